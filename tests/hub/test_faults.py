"""Servers that do what none should: what becomes of the call, and how often it was sent. The server counts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.hub.errors import Code
from kumihimo.hub.results import Answer
from tests.hub.hub_kit import BOUND, IDEMPOTENT, NONE, READ, Scripted, StillTiming, run, until
from tests.wire.client.client_kit import Peer, greets, http, result

QUICK = {"maxRetries": 2, "initialDelay": 1, "maxDelay": 4, "backoffMultiplier": 2}


def code(answer: Answer) -> Code | None:
    return answer.error.code if answer.error else None


def details(answer: Answer) -> dict[str, Any]:
    assert answer.error is not None
    return answer.error.details or {}


def test_a_call_that_may_change_something_is_sent_once_when_its_server_dies_of_it(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "crash", "does": "crash"}, {"name": "fine"})

    async def crash() -> None:
        async with Hub(servers=[alpha.config], options={"retryPolicy": QUICK}) as hub:
            answer = await hub.execute_tool("alpha:crash")
            assert code(answer) is Code.DELIVERY_UNKNOWN
            assert details(answer)["cause"] is Code.CONNECTION_LOST
            assert answer.error is not None
            assert "the last words" in answer.error.message
            assert not answer.error.retryable
            assert alpha.calls("crash") == 1
            assert (await hub.execute_tool("alpha:fine")).success
        assert len(alpha.pids) == 2

    run(crash())


@pytest.mark.parametrize("hints", [READ, IDEMPOTENT])
def test_a_call_that_does_no_harm_is_sent_again_when_its_server_dies(tmp_path: Path, hints: dict[str, Any]) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "crash", "does": "crash", "times": 1, **hints})

    async def crash() -> None:
        async with Hub(servers=[alpha.config], options={"retryPolicy": QUICK}) as hub:
            answer = await hub.execute_tool("alpha:crash")
            assert answer.success
            assert answer.metadata.attempts == alpha.calls("crash") == 2

    run(crash())


@pytest.mark.parametrize("hint", ["true", 1, None, {}, [True]])
@pytest.mark.parametrize("name", ["readOnlyHint", "idempotentHint"])
def test_a_hint_that_is_not_jsons_true_makes_no_call_repeatable(tmp_path: Path, name: str, hint: Any) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "crash", "does": "crash", "annotations": {name: hint}})

    async def crash() -> None:
        async with Hub(servers=[alpha.config], options={"retryPolicy": QUICK}) as hub:
            assert code(await hub.execute_tool("alpha:crash")) is Code.DELIVERY_UNKNOWN
        assert alpha.calls("crash") == 1

    run(crash())


def test_n_retries_are_n_and_one_tries_and_then_the_last_reason_is_told(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "crash", "does": "crash", **READ})
    once = Scripted(tmp_path, "once", {"name": "crash", "does": "crash", **READ}, config={"retryPolicy": NONE})

    async def crash() -> None:
        async with Hub(servers=[alpha.config, once.config], options={"retryPolicy": QUICK}) as hub:
            answer = await hub.execute_tool("alpha:crash")
            assert code(answer) is Code.MAX_RETRIES_EXCEEDED
            assert details(answer)["last"] is Code.CONNECTION_LOST
            assert answer.metadata.attempts == alpha.calls("crash") == 3
            # Without a retry there is no end of retries.
            assert code(await hub.execute_tool("once:crash")) is Code.CONNECTION_LOST
        assert once.calls("crash") == 1

    run(crash())


def test_a_server_that_never_answers_is_given_up_after_the_time_of_the_call(tmp_path: Path) -> None:
    tools = ({"name": "write", "does": "never"}, {"name": "read", "does": "never", **READ}, {"name": "echo"})
    alpha = Scripted(tmp_path, "alpha", *tools, config={"retryPolicy": NONE})

    async def silent() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            await hub.connect("alpha")
            assert code(await hub.execute_tool("alpha:read", timeout_ms=50)) is Code.TIMEOUT
            write = await hub.execute_tool("alpha:write", timeout_ms=50)
            assert code(write) is Code.DELIVERY_UNKNOWN
            assert details(write)["cause"] is Code.TIMEOUT
            assert (await hub.execute_tool("alpha:echo")).success
        assert alpha.calls("write") == 1
        assert len(alpha.pids) == 1

    run(silent())


@pytest.mark.parametrize("script", [{"greeting": "never"}, {"lists": "never"}])
def test_a_server_that_never_greets_or_never_lists_is_given_up_with_nothing_sent(
    tmp_path: Path, script: dict[str, Any]
) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"}, config={"retryPolicy": NONE}, **script)

    async def silent() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            answer = await hub.execute_tool("alpha:echo", timeout_ms=200)
            assert code(answer) is Code.TIMEOUT
        assert alpha.calls("echo") == 0

    run(silent())


def test_garbage_double_answers_and_wrong_shapes_harm_only_the_call_that_they_answer(tmp_path: Path) -> None:
    alpha = Scripted(
        tmp_path,
        "alpha",
        {"name": "garbage", "does": "garbage"},
        {"name": "twice", "does": "twice"},
        {"name": "shapeless", "does": "shapeless"},
        {"name": "shapeless_read", "does": "shapeless", **READ},
        {"name": "huge", "does": "huge", "size": 3_000_000},
        {"name": "last", "does": "last"},
        config={"retryPolicy": NONE},
    )

    async def bad() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            assert (await hub.execute_tool("alpha:garbage")).data[0]["text"] == "after garbage"
            for _ in range(2):
                assert (await hub.execute_tool("alpha:twice")).data[0]["text"] == "first"
            assert code(await hub.execute_tool("alpha:shapeless")) is Code.DELIVERY_UNKNOWN
            assert code(await hub.execute_tool("alpha:shapeless_read")) is Code.EXECUTION_FAILED
            assert len((await hub.execute_tool("alpha:huge")).data[0]["text"]) == 3_000_000
            assert len(alpha.pids) == 1
            # An answer that was given just before the end of its server is not lost.
            assert (await hub.execute_tool("alpha:last")).data[0]["text"] == "answered and gone"
            await until(lambda: not hub.is_connected("alpha"))
            assert (await hub.execute_tool("alpha:garbage")).success

    run(bad())


def test_an_answer_beyond_all_measure_is_told_at_once_and_the_session_goes_on(tmp_path: Path) -> None:
    huge = {"does": "huge", "size": 70_000_000}
    alpha = Scripted(tmp_path, "alpha", {"name": "read", **huge, **READ}, {"name": "write", **huge}, {"name": "echo"})

    async def too_much() -> None:
        # The time of a call is longer than that of this test.
        async with Hub(servers=[alpha.config | {"timeout": int(BOUND * 2000)}], options={"retryPolicy": QUICK}) as hub:
            read = await hub.execute_tool("alpha:read")
            assert code(read) is Code.EXECUTION_FAILED
            assert read.error is not None
            assert "more than 67108864 bytes" in read.error.message
            write = await hub.execute_tool("alpha:write")
            assert code(write) is Code.DELIVERY_UNKNOWN
            assert details(write)["cause"] is Code.EXECUTION_FAILED
            assert (await hub.execute_tool("alpha:echo")).success
        assert (alpha.calls("read"), alpha.calls("write"), len(alpha.pids)) == (1, 1, 1)

    run(too_much())


def test_what_a_server_answers_is_told_by_its_code_and_never_sent_again(tmp_path: Path) -> None:
    answered = {
        -32600: Code.INVALID_REQUEST,
        -32601: Code.METHOD_NOT_FOUND,
        -32602: Code.INVALID_PARAMS,
        -32603: Code.EXECUTION_FAILED,
        -32002: Code.RESOURCE_NOT_FOUND,
        7: Code.EXECUTION_FAILED,
    }
    tools = [{"name": f"e{number}", "does": "rpc", "code": number, **READ} for number in answered]
    alpha = Scripted(tmp_path, "alpha", *tools, {"name": "bad", "does": "error", **READ})

    async def errors() -> None:
        async with Hub(servers=[alpha.config], options={"retryPolicy": QUICK}) as hub:
            for number, expected in answered.items():
                answer = await hub.execute_tool(f"alpha:e{number}")
                assert (number, code(answer), details(answer)["code"]) == (number, expected, number)
                assert alpha.calls(f"e{number}") == 1
            answer = await hub.execute_tool("alpha:bad")
            assert code(answer) is Code.EXECUTION_FAILED
            assert answer.error is not None
            assert answer.error.message == "the tool itself failed"
            assert alpha.calls("bad") == 1

    run(errors())


def test_one_failing_server_blocks_no_call_to_another(tmp_path: Path) -> None:
    dead = Scripted(tmp_path, "dead", greeting="never")
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})
    answered = asyncio.Event()

    async def beside() -> None:
        async with Hub(servers=[dead.config, {"name": "ghost", "command": "/nobody"}, alpha.config]) as hub:
            waiting = asyncio.create_task(hub.execute_tool("dead:anything"))
            await until(lambda: dead.pids)
            assert (await hub.execute_tool("alpha:echo")).success
            answered.set()
            assert not waiting.done()

    run(beside())
    assert answered.is_set()


def over_http(refusals: list[bytes], hints: dict[str, Any]) -> Peer:
    """A peer with one tool, whose calls are refused with these in turn and then answered."""

    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request["method"] == "tools/list":
            writer.write(http(result(request, tools=[{"name": "work", "inputSchema": {"type": "object"}, **hints}])))
        elif request["method"] != "tools/call":
            writer.write(http(b"", status="405 Method Not Allowed"))
        elif (count := peer.methods.count("tools/call")) <= len(refusals):
            if refusals[count - 1]:
                writer.write(refusals[count - 1])
            else:
                writer.close()
        else:
            writer.write(http(result(request, content=[{"type": "text", "text": json.dumps("done")}])))

    return greets(then)


@pytest.mark.parametrize(
    ("refusals", "hints", "expected", "sent"),
    [
        ([http(b"no", status="403 Forbidden")], {}, Code.PERMISSION_DENIED, 1),
        ([http(b"no", status="401 Unauthorized")], READ, Code.PERMISSION_DENIED, 1),
        ([http(b"what", status="400 Bad Request")], {}, Code.INVALID_REQUEST, 1),
        ([http(b"busy", status="429 Too Many Requests")], {}, None, 2),
        ([http(b"busy", status="429 Too Many Requests")] * 3, {}, Code.MAX_RETRIES_EXCEEDED, 3),
        ([http(b"broken", status="500 Internal Server Error")], {}, Code.DELIVERY_UNKNOWN, 1),
        ([http(b"broken", status="500 Internal Server Error")], READ, None, 2),
        ([b""], {}, Code.DELIVERY_UNKNOWN, 1),
        ([b""], IDEMPOTENT, None, 2),
        ([b""] * 3, READ, Code.MAX_RETRIES_EXCEEDED, 3),
        ([http(b"<html>")], {}, Code.DELIVERY_UNKNOWN, 1),
    ],
)
def test_over_http_a_call_is_sent_again_only_where_that_is_safe(
    refusals: list[bytes], hints: dict[str, Any], expected: Code | None, sent: int
) -> None:
    async def refused() -> None:
        peer = over_http(refusals, hints)
        async with (
            peer.listening() as url,
            Hub(servers=[{"name": "web", "url": url.url}], options={"retryPolicy": QUICK}, timing=StillTiming()) as hub,
        ):
            answer = await hub.execute_tool("web:work")
            assert code(answer) is expected
            assert peer.methods.count("tools/call") == answer.metadata.attempts == sent

    run(refused())


@pytest.mark.parametrize(
    ("status", "tries"), [("404 Not Found", 1), ("501 Not Implemented", 1), ("502 Bad Gateway", 3)]
)
def test_an_address_where_there_is_no_such_server_is_told_at_once_and_what_may_pass_is_tried_again(
    status: str, tries: int
) -> None:
    page = http(b"<!DOCTYPE html><html><body>Nothing here</body></html>", status=status, kind="text/html")

    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(page)

    async def refused() -> None:
        async with (
            Peer(answer).listening() as url,
            Hub(servers=[{"name": "web", "url": url.url}], options={"retryPolicy": QUICK}, timing=StillTiming()) as hub,
        ):
            found = await hub.execute_tool("web:work")
            assert found.error is not None
            assert found.metadata.attempts == tries
            assert code(found) is (Code.CONNECTION_FAILED if tries == 1 else Code.MAX_RETRIES_EXCEEDED)
            assert found.error.retryable is (tries > 1)
            # A page is for a browser: its status says it all.
            assert found.error.message.endswith(f"web: HTTP {status.replace(' ', ': ', 1)}")

    run(refused())


def test_a_rate_limit_that_is_not_retried_is_told_as_one() -> None:
    async def refused() -> None:
        peer = over_http([http(b"busy", status="429 Too Many Requests")], READ)
        async with peer.listening() as url, Hub(servers=[{"name": "web", "url": url.url, "retryPolicy": NONE}]) as hub:
            answer = await hub.execute_tool("web:work")
            assert code(answer) is Code.RATE_LIMIT_EXCEEDED
            assert answer.error is not None
            assert answer.error.retryable

    run(refused())


def test_a_server_is_left_alone_for_as_long_as_it_says_by_every_call() -> None:
    busy = http(b'{"error": {"code": 1, "message": "busy"}}', status="429 Too Many Requests", more="Retry-After: 7\r\n")
    timing = StillTiming()

    async def obeyed() -> None:
        peer = over_http([busy, busy.replace(b"After: 7", b"After: 9999")], {})
        async with peer.listening() as url, Hub(servers=[{"name": "web", "url": url.url}], timing=timing) as hub:
            assert code(await hub.execute_tool("web:work")) is Code.RATE_LIMIT_EXCEEDED
            assert timing.slept == [7.0]
            assert peer.methods.count("tools/call") == 2
            # Another call does not even ask: the server has said when.
            answer = await hub.execute_tool("web:work")
            assert code(answer) is Code.RATE_LIMIT_EXCEEDED
            assert details(answer)["retryAfterMs"] == 9_999_000
            assert peer.methods.count("tools/call") == 2
            timing.at += 9_999.0
            assert (await hub.execute_tool("web:work")).success

    run(obeyed())


def test_a_date_after_which_to_come_again_is_understood() -> None:
    past = http(b"busy", status="429 Too Many Requests", more="Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n")
    timing = StillTiming()

    async def obeyed() -> None:
        peer = over_http([past], {})
        async with peer.listening() as url, Hub(servers=[{"name": "web", "url": url.url}], timing=timing) as hub:
            assert (await hub.execute_tool("web:work")).success
            assert timing.slept == [1.0]

    run(obeyed())
