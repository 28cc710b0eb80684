"""Readers survive everything, and what each of them knows beyond the captured streams."""

from __future__ import annotations

import gc
import json
import tracemalloc
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kumihimo.engine.agents import registry
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
    Warned,
)
from kumihimo.engine.agents.observer import Observer
from tests.engine.agents import captures

LINES = [(client, line) for client, name in captures.STREAMS for line in captures.lines_of(client, name)]
ODD = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([]) | st.just({}) | st.just([1, None])
)


def read(client: str, *tables: object) -> list[Happening]:
    return captures.happenings_of(client, [json.dumps(table).encode() for table in tables])


@settings(deadline=None)
@given(st.sampled_from(registry.NAMES), st.lists(st.binary(max_size=200), max_size=5))
def test_no_bytes_make_a_reader_raise(client: str, lines: list[bytes]) -> None:
    captures.happenings_of(client, lines)


@settings(deadline=None)
@given(st.data())
def test_no_wrong_kind_in_any_field_makes_a_reader_raise(data: st.DataObject) -> None:
    client, line = data.draw(st.sampled_from(LINES))
    table = json.loads(line)
    _spoil(table, data)
    captures.happenings_of(client, [json.dumps(table).encode("utf-8", "surrogatepass"), line])


@settings(deadline=None)
@given(st.data())
def test_no_damaged_line_makes_a_reader_raise(data: st.DataObject) -> None:
    client, line = data.draw(st.sampled_from(LINES))
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, len(line)))
    captures.happenings_of(client, [line[:start] + data.draw(st.binary(max_size=5)) + line[end:]])


@pytest.mark.parametrize("client", registry.NAMES)
@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"1e999",
        b"[" * 100_000,
        b'{"type":' * 5_000,
        b'{"type":"assistant","message":' + b"[" * 50_000,
        b'{"type":"result","is_error":false,"subtype":"success","total_cost_usd":1e400}',
        b'{"type":"result","usage":{"input_tokens":' + b"9" * 5_000 + b"}}",
        b'{"type":"\\ud800"}',
        b"\xff\xfe\x00",
    ],
)
def test_hostile_lines_are_survived(client: str, line: bytes) -> None:
    captures.happenings_of(client, [line])


def _spoil(value: Any, data: st.DataObject) -> None:
    """Put something else in one place, at any depth."""
    while True:
        if isinstance(value, dict) and value:
            place = data.draw(st.sampled_from(sorted(value)))
        elif isinstance(value, list) and value:
            place = data.draw(st.integers(0, len(value) - 1))
        else:
            return
        if not isinstance(value[place], dict | list) or not value[place] or data.draw(st.booleans()):
            value[place] = data.draw(ODD)
            return
        value = value[place]


def test_one_bad_byte_does_not_lose_a_line() -> None:
    line = b'{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"caf\xe9"}}'
    assert captures.happenings_of("codex", [line]) == [Said("caf\N{REPLACEMENT CHARACTER}")]


def test_calls_that_are_never_answered_do_not_pile_up() -> None:
    reader = registry.find("gemini-cli").reader()

    def call(number: int) -> None:
        parameters = {"file_path": f"/p/{number}", "content": "x" * 2_000}
        table = {"type": "tool_use", "tool_name": "write_file", "tool_id": f"call {number}", "parameters": parameters}
        list(reader.read(json.dumps(table).encode()))

    for number in range(5_000):
        call(number)
    gc.collect()
    tracemalloc.start()
    for number in range(5_000, 10_000):
        call(number)
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 1_000_000


# Claude Code


def result(**fields: object) -> dict[str, object]:
    return {"type": "result", "subtype": "success", "is_error": False, "usage": {"input_tokens": 1}, **fields}


def assistant(*blocks: object, **fields: object) -> dict[str, object]:
    return {"type": "assistant", "message": {"content": list(blocks)}, **fields}


def test_claude_tokens_of_several_results_add_up_and_its_cost_does_not() -> None:
    found = read("claude-code", result(total_cost_usd=1.0), result(total_cost_usd=1.5))
    last = [one for one in found if isinstance(one, Used)][-1]
    assert (last.run.input_tokens, last.run.cost_usd) == (2, 1.5)


def test_claude_tokens_that_were_cached_count_as_sent() -> None:
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 4}
    assert read("claude-code", result(usage=usage))[0].run.input_tokens == 321  # type: ignore[union-attr]


def test_claude_sub_agents_act_but_do_not_speak() -> None:
    said = assistant({"type": "text", "text": "to my agent"}, parent_tool_use_id="t1")
    called = assistant({"type": "tool_use", "id": "t2", "name": "Bash", "input": {}}, parent_tool_use_id="t1")
    assert read("claude-code", said, called) == [ToolCalled("t2", "Bash")]


def test_claude_usage_limit_ends_when_it_says() -> None:
    found = read("claude-code", result(is_error=True, result="Claude AI usage limit reached|1763251200"))
    assert found[-1] == Failed(
        "rate_limited", "Claude AI usage limit reached|1763251200", datetime(2025, 11, 16, tzinfo=UTC)
    )


def test_claude_limit_by_the_clock_is_told_by_the_line_that_has_a_time() -> None:
    message = "You've hit your limit · resets 3am (Europe/Berlin)"
    said = assistant({"type": "text", "text": message}, error="rate_limit", timestamp="2026-11-15T20:00:00Z")
    found = read("claude-code", said, result(is_error=True, result=message))
    assert found[-1] == Failed("rate_limited", message, datetime(2026, 11, 16, 2, tzinfo=UTC))


def test_claude_limit_event_gives_the_end_of_the_limit() -> None:
    event = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1763251200}}
    found = read("claude-code", event, result(is_error=True, result="stopped", api_error_status=429))
    assert found[-1] == Failed("rate_limited", "stopped", datetime(2025, 11, 16, tzinfo=UTC))


def test_claude_limit_that_is_only_near_is_no_failure() -> None:
    event = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning", "resetsAt": 1763251200}}
    assert read("claude-code", event) == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"subtype": "error_max_turns", "is_error": True}, "exited"),
        ({"subtype": "error_during_execution", "is_error": True, "terminal_reason": "aborted_tools"}, "signalled"),
        ({"is_error": True, "result": "OAuth token has expired"}, "auth"),
        ({"is_error": "no", "result": "x"}, "exited"),
    ],
)
def test_claude_result_that_is_not_clean_is_a_failure(fields: dict[str, object], reason: str) -> None:
    last = read("claude-code", result(**fields))[-1]
    assert isinstance(last, Failed)
    assert last.reason == reason


# The others


def test_codex_item_that_only_completes_is_called_and_answered() -> None:
    item = {"id": "i", "type": "command_execution", "command": "ls", "exit_code": 0, "status": "completed"}
    found = read("codex", {"type": "item.completed", "item": item})
    assert found == [ToolCalled("i", "shell", "command=ls"), ToolAnswered("i", True)]


def test_codex_warning_is_no_end() -> None:
    item = {"id": "i", "type": "error", "message": "model metadata not found"}
    assert read("codex", {"type": "item.completed", "item": item}) == [Warned("model metadata not found")]


def test_codex_limit_is_told_in_seconds_because_its_lines_have_no_time() -> None:
    failed = {
        "type": "turn.failed",
        "error": {"message": "You've hit your usage limit. Try again in 2 hours 5 minutes."},
    }
    assert read("codex", failed) == [
        Failed("rate_limited", failed["error"]["message"], reset_after=7500.0)  # type: ignore[index]
    ]


def test_gemini_file_that_was_read_before_is_not_new() -> None:
    def calls(tool: str, number: str) -> list[dict[str, object]]:
        use = {"type": "tool_use", "tool_name": tool, "tool_id": number, "parameters": {"file_path": "/p/a"}}
        return [use, {"type": "tool_result", "tool_id": number, "status": "success"}]

    found = read("gemini-cli", *calls("read_file", "1"), *calls("write_file", "2"))
    assert found[-1] == FileChanged("/p/a", created=False)


def test_gemini_limit_ends_in_relation_to_its_own_line() -> None:
    error = {"type": "unknown", "message": "Resource exhausted. Please retry in 12.5s."}
    line = {"type": "result", "status": "error", "timestamp": "2026-11-15T20:00:00.000Z", "error": error}
    assert read("gemini-cli", line)[-1] == Failed(
        "rate_limited", error["message"], datetime(2026, 11, 15, 20, 0, 12, 500_000, tzinfo=UTC)
    )


def test_opencode_step_that_goes_on_is_no_end() -> None:
    part = {
        "reason": "tool-calls",
        "tokens": {"input": 5, "cache": {"read": 7, "write": 1}, "output": 2, "reasoning": 3},
    }
    found = read("opencode", {"type": "step_finish", "part": part})
    assert not any(isinstance(one, Finished) for one in found)
    assert [(one.run.input_tokens, one.run.output_tokens) for one in found if isinstance(one, Used)] == [(13, 5)]


def test_opencode_limit_has_the_servers_retry_after() -> None:
    data = {"message": "slow down", "statusCode": 429, "responseHeaders": {"retry-after": "30"}}
    line = {"type": "error", "timestamp": 1794768342000, "error": {"name": "APIError", "data": data}}
    found = read("opencode", line)[-1]
    assert isinstance(found, Failed)
    assert (found.reason, found.reset_at) == ("rate_limited", datetime.fromtimestamp(1794768372, UTC))


def test_copilot_tells_a_call_once_though_it_is_shown_twice() -> None:
    request = {"toolCallId": "c", "name": "bash", "arguments": {}}
    message = {"type": "assistant.message", "data": {"content": "", "toolRequests": [request]}}
    start = {"type": "tool.execution_start", "data": {"toolCallId": "c", "toolName": "bash", "arguments": {}}}
    assert read("copilot", message, start) == [ToolCalled("c", "bash")]


def test_the_model_of_copilot_is_known_from_its_first_lines() -> None:
    watched = Observer("exec_a", registry.find("copilot").reader())
    watched.observe([b'{"type":"session.tools_updated","data":{"model":"m"}}'])
    # Its conversation is named at the end alone: who is killed before has told the model all the same.
    assert (watched.observation(1).model, watched.observation(1).conversation) == ("m", None)
    watched.observe([b'{"type":"result","sessionId":"s","exitCode":0}'])
    assert (watched.observation(2).model, watched.observation(2).conversation) == ("m", "s")


def test_cursor_call_may_be_a_function_or_fail() -> None:
    call = {"function": {"name": "search", "arguments": '{"query": "x"}'}}
    broken = {"editToolCall": {"args": {"path": "/p/a"}, "result": {"error": {"message": "no such file"}}}}
    found = read(
        "cursor",
        {"type": "tool_call", "subtype": "completed", "call_id": "1", "tool_call": call},
        {"type": "tool_call", "subtype": "completed", "call_id": "2", "tool_call": broken},
    )
    assert found == [
        ToolCalled("1", "search", "query=x"),
        ToolAnswered("1", True),
        ToolCalled("2", "edit", "path=/p/a"),
        ToolAnswered("2", False),
    ]


def test_plain_text_is_what_the_program_says() -> None:
    assert captures.happenings_of("command", [b"one\n", b"", b"\xfftwo"]) == [
        Said("one"),
        Said("\N{REPLACEMENT CHARACTER}two"),
    ]


@pytest.mark.parametrize("client", ["claude-code", "qwen-code", "cursor"])
def test_a_session_is_opened_once(client: str) -> None:
    line = {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}
    assert read(client, line, line) == [SessionOpened("s", "m")]


def test_what_looks_like_a_secret_is_not_shown_among_arguments() -> None:
    block = {"type": "tool_use", "id": "t", "name": "x", "input": {"session_token": "abc", "text": "a\n b" + "c" * 500}}
    (called,) = read("claude-code", assistant(block))
    assert isinstance(called, ToolCalled)
    assert called.arguments.startswith("session_token=***, text=a bccc")
    assert len(called.arguments) <= 200


def test_words_that_were_cut_within_a_character_do_not_lose_the_line_that_carries_them() -> None:
    cut = rb'{"type":"result","subtype":"success","is_error":false,"result":"fine \ud83d","usage":{"input_tokens":3}}'
    found = captures.happenings_of("claude-code", [cut])
    assert Finished("fine \ufffd") in found
    whole = rb'{"type":"result","subtype":"success","is_error":false,"result":"\ud83d\ude00 \\ud83d \ude00"}'
    assert Finished("\U0001f600 \\ud83d \ufffd") in captures.happenings_of("claude-code", [whole])
