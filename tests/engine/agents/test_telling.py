"""A stream as a conversation: for every CLI, what it said and did, at length."""

from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo.engine.agents import registry
from kumihimo.engine.agents.telling import LONGEST, Entry, tell

STREAMS = Path(__file__).parent / "streams"
CLIENTS = sorted(path.name for path in STREAMS.iterdir() if path.is_dir())


def told(client: str, name: str) -> list[Entry]:
    return told_of(client, (STREAMS / client / name).read_bytes())


def told_of(client: str, stream: bytes) -> list[Entry]:
    placed, position = [], 0
    for line in stream.splitlines(keepends=True):
        placed.append((position, line))
        position += len(line)
    return tell(registry.find(client).reader(), placed)


@pytest.mark.parametrize(
    "stream", sorted(STREAMS.glob("*/*.jsonl")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_every_answer_has_its_call_and_every_entry_its_place(stream: Path) -> None:
    entries = told(stream.parent.name, stream.name)
    assert [entry.position for entry in entries] == sorted(entry.position for entry in entries)
    called = {entry.call for entry in entries if entry.kind == "tool"}
    assert {entry.call for entry in entries if entry.kind == "answer"} <= called


@pytest.mark.parametrize("client", ["claude-code", "gemini-cli", "opencode", "qwen-code", "copilot"])
def test_an_edit_is_shown_with_what_was_there_and_what_is_there_now(client: str) -> None:
    changes = [change for entry in told(client, "edit.jsonl") for change in entry.changes]
    assert any(change.path.endswith("hello.txt") and change.after for change in changes), changes
    if client != "copilot":
        assert any("line two" in (change.before or "") for change in changes), changes


@pytest.mark.parametrize("client", ["claude-code", "gemini-cli"])
def test_when_a_tool_was_called_and_answered_is_told_where_the_cli_says_so(client: str) -> None:
    entries = told(client, "edit.jsonl")
    called = {entry.call: entry.at for entry in entries if entry.kind == "tool"}
    answered = {entry.call: entry.at for entry in entries if entry.kind == "answer"}
    assert called
    assert all(at is not None and answered[call] is not None and at <= answered[call] for call, at in called.items())
    assert not any(entry.at for entry in told("codex", "edit.jsonl"))


def test_codex_tells_which_files_it_changed_and_not_how() -> None:
    changes = [change for entry in told("codex", "edit.jsonl") for change in entry.changes]
    assert changes
    assert {(change.path.rpartition("/")[2], change.before, change.after) for change in changes} == {
        ("hello.txt", None, None)
    }


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini-cli", "opencode"])
def test_what_a_tool_was_given_is_shown_whole(client: str) -> None:
    tools = [
        entry for entry in told(client, "mcp_http.jsonl") if entry.kind == "tool" and "report" in (entry.tool or "")
    ]
    assert tools
    assert "half way" in (tools[0].arguments or "")
    # As short as it is shown elsewhere: no secret.
    assert '"session_token": "***"' in (tools[0].arguments or "")


@pytest.mark.parametrize("client", ["claude-code", "codex", "opencode"])
def test_what_a_tool_answered_is_shown(client: str) -> None:
    assert any(entry.result for entry in told(client, "mcp_http.jsonl") if entry.kind == "answer")


def test_an_answer_in_pieces_is_one_entry_until_something_else_happens() -> None:
    piece = '{"type":"message","role":"assistant","content":"%s","delta":true}\n'
    call = '{"type":"tool_use","tool_name":"ls","tool_id":"1","parameters":{}}\n'
    stream = piece % "One, " + piece % "two." + call + piece % "Three."
    assert [(entry.kind, entry.text) for entry in told_of("gemini-cli", stream.encode())] == [
        ("said", "One, two."), ("tool", None), ("said", "Three."),
    ]  # fmt: skip


def test_what_is_no_event_is_shown_as_it_is_and_nothing_is_too_long() -> None:
    entries = told_of("claude-code", b"Oops: \x1b[31mred\x1b[0m \xff\n\n" + b"x" * (LONGEST + 5) + b"\n")
    assert [entry.kind for entry in entries] == ["plain", "plain"]
    assert entries[0].text == "Oops: \x1b[31mred\x1b[0m �"
    assert len(entries[1].text or "") == LONGEST
