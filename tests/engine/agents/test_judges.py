"""What a run came to, where the stream alone does not say it."""

from __future__ import annotations

import pytest

from kumihimo.engine.agents import registry
from kumihimo.engine.agents.client import Ending, Verdict
from kumihimo.engine.agents.command import Command
from kumihimo.engine.agents.happenings import Failed, Finished

JSON_CLIENTS = [name for name in registry.NAMES if name != "command"]


@pytest.mark.parametrize("client", JSON_CLIENTS)
@pytest.mark.parametrize(
    ("seen", "ending", "reason"),
    [
        (Finished("ok"), Ending(0), None),
        (None, Ending(0), "protocol"),
        (Finished("ok"), Ending(1), "exited"),
        (None, Ending(1), "exited"),
        (None, Ending(143), "signalled"),
        (Finished("ok"), Ending(signal=15), "signalled"),
        (Failed("rate_limited", "later"), Ending(0), "rate_limited"),
    ],
)
def test_success_needs_the_terminal_event_and_exit_code_0(
    client: str, seen: Finished | Failed | None, ending: Ending, reason: str | None
) -> None:
    assert registry.find(client).judge(seen, ending, "").reason == reason


@pytest.mark.parametrize(
    ("code", "reason"),
    [(41, "auth"), (55, "permission"), (145, "auth"), (147, "permission"), (173, "rate_limited"), (244, "exited")],
)
def test_gemini_tells_by_its_exit_code(code: int, reason: str) -> None:
    client = registry.find("gemini-cli")
    assert client.judge(None, Ending(code), "").reason == reason
    assert client.judge(Failed("exited", "unclear"), Ending(code), "").reason == reason


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        ("Error: Authentication required. Please run 'agent login' first", "auth"),
        ("you have hit your usage limit", "rate_limited"),
        ("Workspace is not trusted", "permission"),
        ("something else", "exited"),
    ],
)
def test_cursor_fails_on_stderr_alone(errors: str, reason: str) -> None:
    assert registry.find("cursor").judge(None, Ending(1), errors) == Verdict(reason, errors)  # type: ignore[arg-type]


def test_a_limit_on_stderr_keeps_when_it_ends() -> None:
    verdict = registry.find("cursor").judge(None, Ending(1), "Rate limit: try again in 30s")
    assert verdict.reset_after == 30


def test_a_stack_trace_does_not_hide_the_error_before_it() -> None:
    errors = "WARNING: odd\nError: thread not found\n\nStack backtrace:\n   0: <unknown>\n"
    assert registry.find("codex").judge(None, Ending(1), errors).message == "Error: thread not found"


@pytest.mark.parametrize(
    ("ending", "reason"), [(Ending(0), None), (Ending(3), "exited"), (Ending(signal=9), "signalled")]
)
def test_a_plain_program_is_judged_by_its_exit_code(ending: Ending, reason: str | None) -> None:
    assert Command().judge(None, ending, "").reason == reason


def test_a_program_with_a_dialect_is_judged_as_that_cli() -> None:
    assert Command("codex").judge(None, Ending(0), "").reason == "protocol"
    lines = [b'{"type":"turn.completed","usage":{}}']
    assert any(isinstance(one, Finished) for line in lines for one in Command("codex").reader().read(line))
