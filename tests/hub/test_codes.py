"""Every code that a call may answer is answered by one here, and there is no other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from kumihimo import Hub
from kumihimo.hub.errors import Code, HubError
from tests.hub.hub_kit import NONE, READ, Scripted, run
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


def test_a_code_that_a_later_try_may_mend_is_retryable() -> None:
    mended = {Code.CONNECTION_FAILED, Code.CONNECTION_LOST, Code.TIMEOUT, Code.RATE_LIMIT_EXCEEDED}
    assert {code for code in Code if HubError(code, "").retryable} == mended
