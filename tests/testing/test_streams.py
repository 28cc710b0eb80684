"""What the scripted agent prints is read as the real CLI's stream is."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kumihimo.engine.agents.client import Client, Ending, Verdict
from kumihimo.engine.agents.happenings import (
    Failed,
    FileChanged,
    Finished,
    Happening,
    Said,
    SessionOpened,
    ToolAnswered,
    ToolCalled,
    Used,
)
from kumihimo.engine.agents.registry import find
from kumihimo.testing.scripts import CLIENTS, Script
from tests.testing.runs import RESUME, run

STREAMS = [client for client in CLIENTS if client != "text"]
# Those that say how many tokens were used.
COUNTING = [client for client in STREAMS if client != "copilot"]


def client_of(name: str) -> Client:
    return find("command" if name == "text" else name)


def told(client: Client, output: bytes) -> list[Happening]:
    reader = client.reader()
    return [happening for line in output.splitlines() for happening in reader.read(line)]


def verdict(client: Client, done: subprocess.CompletedProcess[bytes]) -> Verdict:
    """As the product judges: by the last terminal event, the exit and stderr."""
    ends = [happening for happening in told(client, done.stdout) if isinstance(happening, Finished | Failed)]
    code = done.returncode
    ending = Ending(exit_code=code) if code >= 0 else Ending(signal=-code)
    return client.judge(ends[-1] if ends else None, ending, done.stderr.decode())


def words(happenings: list[Happening]) -> str:
    return "".join(happening.text for happening in happenings if isinstance(happening, Said))


@pytest.mark.parametrize("name", CLIENTS)
def test_without_a_script_it_says_hello_and_finishes_well(name: str, tmp_path: Path) -> None:
    client = client_of(name)

    done = run(name, "Do something.", tmp_path)

    assert "Hello from the scripted agent." in words(told(client, done.stdout))
    assert verdict(client, done) == Verdict()
    assert done.stderr == b""


@pytest.mark.parametrize("name", STREAMS)
def test_what_it_does_is_told_in_the_words_of_the_cli(name: str, tmp_path: Path) -> None:
    client = client_of(name)
    (tmp_path / "old.txt").write_text("one two\n")
    script = Script().say("I begin.").write("new.txt", "new\n").edit("old.txt", "two", "three").shell("cat old.txt")
    script.tool("search", ok=False, result="nothing", query="x").say("I end.")

    done = run(name, script, tmp_path)
    happenings = told(client, done.stdout)

    assert (tmp_path / "new.txt").read_text() == "new\n"
    assert (tmp_path / "old.txt").read_text() == "one three\n"
    changed = {h.path: h.created for h in happenings if isinstance(h, FileChanged)}
    assert changed == {str(tmp_path / "new.txt"): True, str(tmp_path / "old.txt"): False}
    assert len([h for h in happenings if isinstance(h, ToolCalled)]) == 4
    assert [h.ok for h in happenings if isinstance(h, ToolAnswered)] == [True, True, True, False]
    assert words(happenings) == "I begin.I end."
    assert verdict(client, done) == Verdict()


@pytest.mark.parametrize("name", ["claude-code", "codex", "opencode", "copilot"])
def test_a_file_that_was_there_is_told_as_changed(name: str, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old\n")

    done = run(name, Script().write("old.txt", "new\n"), tmp_path)

    assert FileChanged(str(tmp_path / "old.txt"), created=False) in told(client_of(name), done.stdout)


@pytest.mark.parametrize("name", ["claude-code", "gemini-cli", "opencode", "copilot", "qwen-code", "cursor"])
def test_a_change_that_is_refused_is_not_told_as_one(name: str, tmp_path: Path) -> None:
    done = run(name, Script().write("new.txt", "new\n", ok=False), tmp_path)
    happenings = told(client_of(name), done.stdout)

    assert not (tmp_path / "new.txt").exists()
    assert not any(isinstance(happening, FileChanged) for happening in happenings)
    assert any(isinstance(happening, ToolAnswered) and not happening.ok for happening in happenings)


@pytest.mark.parametrize("name", STREAMS)
def test_a_conversation_keeps_its_id_when_it_is_resumed(name: str, tmp_path: Path) -> None:
    def session(*arguments: str) -> str:
        found = told(client_of(name), run(name, Script().say("Hello."), tmp_path, *arguments).stdout)
        return next(happening.session for happening in found if isinstance(happening, SessionOpened))

    first = session()

    assert session(*RESUME[name], first) == first
    assert session() != first


@pytest.mark.parametrize("name", COUNTING)
def test_tokens_are_those_of_the_script(name: str, tmp_path: Path) -> None:
    script = Script(usage={"input": 1000, "output": 50}).say("Hello.").use(500, 25)

    happenings = told(client_of(name), run(name, script, tmp_path).stdout)

    used = [happening for happening in happenings if isinstance(happening, Used)][-1]
    assert (used.run.input_tokens, used.run.output_tokens) == (1500, 75)


@pytest.mark.parametrize("name", ["claude-code", "codex", "qwen-code"])
def test_a_conversation_that_is_resumed_counts_on(name: str, tmp_path: Path) -> None:
    client = client_of(name)
    reader = client.reader()
    first = run(name, Script(usage={"input": 100, "output": 20, "cost": 0.5}).say("One."), tmp_path)
    before = [h for line in first.stdout.splitlines() for h in reader.read(line) if isinstance(h, Used)][
        -1
    ].conversation
    earlier = {"input": 100, "output": 20, "cost": 0.5}

    second = run(name, Script(usage={"input": 7, "output": 3, "cost": 0.25}, before=earlier).say("Two."), tmp_path)

    reader = client.reader(before)
    used = [h for line in second.stdout.splitlines() for h in reader.read(line) if isinstance(h, Used)][-1]
    assert (used.run.input_tokens, used.run.output_tokens) == (7, 3)
    assert (used.conversation.input_tokens, used.conversation.output_tokens) == (107, 23)


# opencode and Qwen Code say nothing of a rate limit, and try again for ever.
@pytest.mark.parametrize("name", [client for client in STREAMS if client not in ("opencode", "qwen-code")])
def test_a_rate_limit_is_known_by_what_the_cli_says(name: str, tmp_path: Path) -> None:
    client = client_of(name)

    done = run(name, Script().say("I begin.").rate_limit(), tmp_path)

    assert done.returncode != 0
    assert verdict(client, done).reason == "rate_limited"


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli"])
def test_the_end_of_a_rate_limit_is_known_where_the_cli_says_it(name: str, tmp_path: Path) -> None:
    client = client_of(name)
    started = datetime.now(UTC)

    done = run(name, Script().rate_limit(resets_in=7200), tmp_path)

    failed = next(happening for happening in told(client, done.stdout) if isinstance(happening, Failed))
    ends = failed.reset_at or started + timedelta(seconds=failed.reset_after or 0)
    assert abs((ends - started).total_seconds() - 7200) < 120


@pytest.mark.parametrize("name", STREAMS)
def test_a_key_that_is_refused_is_known_by_what_the_cli_says(name: str, tmp_path: Path) -> None:
    client = client_of(name)

    done = run(name, Script().auth_failure(), tmp_path)

    assert verdict(client, done).reason == "auth"


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_without_its_terminal_event_is_no_success(name: str, tmp_path: Path) -> None:
    client = client_of(name)

    done = run(name, Script().say("I am done.").silent(), tmp_path)

    assert done.returncode == 0
    assert verdict(client, done).reason == "protocol"


@pytest.mark.parametrize("name", CLIENTS)
def test_what_is_no_line_of_the_stream_changes_nothing(name: str, tmp_path: Path) -> None:
    client = client_of(name)
    script = Script().raw(b"not json\n").raw(b"\xff\xfe\x00\n").raw(b'{"type":\n').long_line(3_000_000).say("Done.")

    done = run(name, script, tmp_path)

    assert max(len(line) for line in done.stdout.splitlines()) >= 3_000_000
    assert words(told(client, done.stdout)).endswith("Done.")
    assert verdict(client, done) == Verdict()


@pytest.mark.parametrize("name", CLIENTS)
def test_many_lines_come_whole_and_in_order(name: str, tmp_path: Path) -> None:
    done = run(name, Script().lines(2000, text="<{n}>"), tmp_path)

    assert words(told(client_of(name), done.stdout)) == "".join(f"<{number}>" for number in range(1, 2001))
