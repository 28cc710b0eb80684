"""What is read from the captured stream of every CLI, and what is made of it."""

from __future__ import annotations

import pytest

from kumihimo.engine.agents.client import Ending
from kumihimo.engine.agents.happenings import Usage, Used
from tests.engine.agents import captures

SUCCEEDED = [(client, name) for client, name in captures.STREAMS if captures.ending_of(client, name) == Ending(0)]


@pytest.mark.parametrize(("client", "name"), captures.STREAMS)
def test_a_captured_stream_is_read_exactly(client: str, name: str) -> None:
    found = captures.told(client, captures.lines_of(client, name), captures.ending_of(client, name))
    assert found == captures.expected(client)[name]


@pytest.mark.parametrize("client", sorted({client for client, _ in captures.STREAMS}))
def test_no_expectation_is_without_its_stream(client: str) -> None:
    assert sorted(captures.expected(client)) == [name for owner, name in captures.STREAMS if owner == client]


@pytest.mark.parametrize(("client", "name"), SUCCEEDED)
def test_a_stream_that_is_cut_short_is_never_a_success(client: str, name: str) -> None:
    lines = captures.lines_of(client, name)
    for end in range(len(lines)):
        if captures.terminal_of(captures.happenings_of(client, lines[:end])):
            break
        assert captures.judged(client, lines[:end], Ending(0)).reason == "protocol"


@pytest.mark.parametrize(("client", "name"), SUCCEEDED)
def test_a_last_line_that_is_cut_in_the_middle_is_never_a_success(client: str, name: str) -> None:
    *lines, last = captures.lines_of(client, name)
    for end in range(0, len(last) - 1, 7):
        assert captures.judged(client, [*lines, last[:end]], Ending(0)).reason is not None


@pytest.mark.parametrize(("client", "name"), captures.STREAMS)
@pytest.mark.parametrize("ending", [Ending(1), Ending(255), Ending(signal=9), Ending(signal=15)])
def test_whatever_the_stream_says_a_bad_ending_is_a_failure(client: str, name: str, ending: Ending) -> None:
    assert captures.judged(client, captures.lines_of(client, name), ending).reason is not None


@pytest.mark.parametrize(("client", "name"), captures.STREAMS)
def test_a_stream_reads_the_same_again(client: str, name: str) -> None:
    lines = captures.lines_of(client, name)
    assert captures.happenings_of(client, lines) == captures.happenings_of(client, lines)


@pytest.mark.parametrize(
    ("client", "first", "second"),
    [
        # These tell the whole conversation again (Claude Code its cost, Codex and Qwen Code their tokens).
        ("claude-code", Usage(100, 20, 0.0006), Usage(200, 40, 0.0012)),
        ("codex", Usage(100, 20), Usage(200, 40)),
        ("qwen-code", Usage(200, 40), Usage(400, 80)),
        # These tell the run alone.
        ("gemini-cli", Usage(100, 20), Usage(200, 40)),
        ("opencode", Usage(100, 20, 0.0), Usage(200, 40, 0.0)),
    ],
)
def test_a_resumed_conversation_counts_what_this_run_added(client: str, first: Usage, second: Usage) -> None:
    resumed = captures.happenings_of(client, captures.lines_of(client, "resumed"), before=first)
    used = [one for one in resumed if isinstance(one, Used)][-1]
    assert (used.run.input_tokens, used.run.output_tokens) == (first.input_tokens, first.output_tokens)
    assert used.run.cost_usd == pytest.approx(first.cost_usd)
    assert (used.conversation.input_tokens, used.conversation.output_tokens) == (
        second.input_tokens,
        second.output_tokens,
    )
    assert used.conversation.cost_usd == pytest.approx(second.cost_usd)


@pytest.mark.parametrize("client", ["claude-code", "codex", "qwen-code"])
def test_a_count_below_that_of_before_is_taken_for_the_runs_own(client: str) -> None:
    resumed = captures.happenings_of(client, captures.lines_of(client, "conversation"), before=Usage(1000, 900, 5.0))
    used = [one for one in resumed if isinstance(one, Used)][-1]
    assert used.run.input_tokens in (100, 200)
    assert used.conversation.input_tokens == 1000 + used.run.input_tokens
    assert used.conversation.cost_usd == 5.0 + (used.run.cost_usd or 0)
