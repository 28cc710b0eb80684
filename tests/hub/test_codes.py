"""Every code that a call may answer is answered by one here, and there is no other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from kumihimo import Hub
from kumihimo.hub.errors import Code, HubError
from tests.hub.hub_kit import NONE, READ, Scripted, StillTiming, run
from tests.wire.client.client_kit import Peer, greets, http, result

PROVOKED = {
    Code.CONNECTION_FAILED: "ghost:anything",
    Code.CONNECTION_LOST: "alpha:crash_read",
    Code.TIMEOUT: "alpha:silent_read",
    Code.INVALID_REQUEST: "alpha:e600",
    Code.METHOD_NOT_FOUND: "alpha:e601",
    Code.INVALID_PARAMS: "alpha:strict",
    Code.EXECUTION_FAILED: "alpha:bad",
    Code.TOOL_NOT_FOUND: "alpha:nothing",
    Code.PERMISSION_DENIED: "web:forbidden",
    Code.RATE_LIMIT_EXCEEDED: "web:busy",
    Code.CANNOT_EXECUTE: "alpha:denied",
    Code.MAX_RETRIES_EXCEEDED: "beta:crash_read",
    Code.DELIVERY_UNKNOWN: "alpha:crash",
    Code.AMBIGUOUS_TOOL: "crash_read",
}
# These two are not answers to a single call of a tool.
ELSEWHERE = {Code.RESOURCE_NOT_FOUND, Code.PARALLEL_EXECUTION_FAILED}


def scripted(folder: Path) -> list[dict[str, Any]]:
    crash: dict[str, Any] = {"does": "crash"}
    alpha = Scripted(
        folder,
        "alpha",
        {"name": "crash_read", **crash, **READ},
        {"name": "crash", **crash},
        {"name": "silent_read", "does": "never", **READ},
        {"name": "e600", "does": "rpc", "code": -32600},
        {"name": "e601", "does": "rpc", "code": -32601},
        {"name": "strict", "inputSchema": {"type": "object", "required": ["x"]}},
        {"name": "bad", "does": "error"},
        {"name": "denied"},
        config={"retryPolicy": NONE, "deny": ["denied"]},
    )
    beta = Scripted(folder, "beta", {"name": "crash_read", **crash, **READ})
    beta.config["retryPolicy"] = {"maxRetries": 1, "initialDelay": 0}
    return [alpha.config, beta.config, {"name": "ghost", "command": "/nobody", "retryPolicy": NONE}]


async def refuse(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    if request["method"] == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("forbidden", "busy")]
        writer.write(http(result(request, tools=tools)))
    else:
        busy = request["params"]["name"] == "busy"
        writer.write(http(b"no", status="429 Too Many Requests" if busy else "403 Forbidden"))


def test_every_code_is_answered_with_a_message_and_whether_to_try_again(tmp_path: Path) -> None:
    async def provoke() -> None:
        async with greets(refuse).listening() as url:
            web = {"name": "web", "url": url.url, "retryPolicy": NONE}
            async with Hub(servers=[*scripted(tmp_path), web]) as hub:
                await hub.connect("alpha")
                for code, name in PROVOKED.items():
                    timeout_ms = 50 if code is Code.TIMEOUT else None
                    error = (await hub.execute_tool(name, timeout_ms=timeout_ms)).error
                    assert error is not None, name
                    assert error.code is code, name
                    assert error.message
                    assert isinstance(error.retryable, bool)

    run(provoke())
    assert set(PROVOKED) | ELSEWHERE == set(Code)


def test_a_program_that_is_not_there_is_told_at_once_and_not_tried_again(tmp_path: Path) -> None:
    there = tmp_path / "no-program"
    there.write_text("text")
    servers = [
        {"name": "none", "command": "no-such-program"},
        {"name": "nowhere", "command": "true", "cwd": str(tmp_path / "nowhere")},
        {"name": "text", "command": str(there)},
    ]

    async def call() -> None:
        timing = StillTiming()
        async with Hub(servers=servers, timing=timing) as hub:
            for server in servers:
                answer = await hub.execute_tool(f"{server['name']}:any")
                assert answer.error is not None
                assert (answer.error.code, answer.error.retryable) == (Code.CONNECTION_FAILED, False)
                assert answer.metadata.attempts == 1
            assert timing.slept == []

    run(call())


def test_how_long_a_server_wants_to_be_left_alone_is_told_the_first_time_already(tmp_path: Path) -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request["method"] == "tools/list":
            writer.write(http(result(request, tools=[{"name": "busy", "inputSchema": {"type": "object"}}])))
        else:
            writer.write(http(b"no", status="429 Too Many Requests", more="Retry-After: 3\r\n"))

    async def call() -> None:
        async with (
            greets(then).listening() as url,
            Hub(servers=[{"name": "web", "url": url.url, "retryPolicy": NONE}], timing=StillTiming()) as hub,
        ):
            error = (await hub.execute_tool("web:busy")).error
            assert error is not None
            assert error.code is Code.RATE_LIMIT_EXCEEDED
            assert error.details is not None
            assert error.details["retryAfterMs"] == 3000

    run(call())


def test_a_time_that_is_over_is_told_as_it_was_given(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "never", "does": "never"})

    async def call() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            # Some of it goes while the server starts.
            error = (await hub.execute_tool("alpha:never", timeout_ms=1500)).error
            assert error is not None
            assert "no answer within 1.5 s" in error.message

    run(call())


def test_a_code_that_a_later_try_may_mend_is_retryable() -> None:
    mended = {Code.CONNECTION_FAILED, Code.CONNECTION_LOST, Code.TIMEOUT, Code.RATE_LIMIT_EXCEEDED}
    assert {code for code in Code if HubError(code, "").retryable} == mended
