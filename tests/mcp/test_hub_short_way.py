"""Calls through the hub over HTTP answer the same by the short way as by the long one, and take it where they can."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import yaml

from kumihimo.domain.project import Project
from kumihimo.domain.token import Token
from kumihimo.services.wish import Wish
from kumihimo.settings import Flags, load
from kumihimo.surfaces.http.application import Application
from kumihimo.surfaces.mcp.door import Door
from kumihimo.wire.serving.exchange import Exchange
from tests.hub.hub_kit import READ, Scripted, until
from tests.mcp.http_door import stateless_request
from tests.mcp.town import Town
from tests.wire.serving_kit import Peer, served

OWNER = "the-token-of-the-owner"
STRICT = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
TOOLS = (
    {"name": "echo", "inputSchema": STRICT},
    {"name": "structured", "does": "structured"},
    {"name": "error", "does": "error"},
    {"name": "refuses", "does": "rpc", "code": -32000},
    {"name": "shapeless", "does": "shapeless"},
)
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ours:echo", {"n": 1}),
    ("ours:echo", {"n": "one"}),
    ("ours:structured", {}),
    ("ours:error", {}),
    ("ours:refuses", {}),
    ("ours:shapeless", {}),
    ("ours:unknown", {}),
    ("echo", {"n": 2}),
    ("theirs:echo", {}),
)


class House:
    """The HTTP application of a door: `short` is for each request whether it went the short way."""

    def __init__(self, town: Town) -> None:
        settings = load(Flags(db=town.database), {"KUMI_HOME": str(town.home)}, Path.cwd())
        self.door = Door(settings)
        self.application = Application(self.door, OWNER)
        self.short: list[bool] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.application(scope, receive, send)

    def begin(self, exchange: Exchange) -> bool:
        self.short.append(self.application.begin(exchange))
        return self.short[-1]


@contextlib.asynccontextmanager
async def house(town: Town) -> AsyncGenerator[tuple[House, Peer, Peer]]:
    """With a client whose calls may go the short way, and one whose calls all go the long way."""
    made = House(town)
    try:
        async with served(made) as place, served(lambda *them: made.application(*them)) as other:
            yield made, await place.peer(), await other.peer()
            await made.application.close()
    finally:
        made.door.close()


def put(project: Project, *servers: Scripted) -> None:
    file = Path(project.working_directory) / "mcp.config.yaml"
    file.write_text(yaml.safe_dump({"servers": [server.config for server in servers]}))


async def post(peer: Peer, path: str, token: str, body: Any, **headers: str) -> tuple[int, dict[bytes, bytes], bytes]:
    data = json.dumps(body).encode()
    told = {
        "host": "127.0.0.1", "authorization": f"Bearer {token}", "content-type": "application/json",
        "accept": "application/json, text/event-stream", "content-length": str(len(data)), **headers,
    }  # fmt: skip
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    await peer.say(f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + data)
    return await peer.answer()


async def session(peer: Peer, path: str, token: str, **capabilities: Any) -> dict[str, str]:
    params = {
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"},
    }  # fmt: skip
    _, headers, _ = await post(peer, path, token, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    return {"mcp-session-id": headers[b"mcp-session-id"].decode()}


async def call(peer: Peer, path: str, token: str, tool: str, arguments: Any, known: dict[str, str] | None) -> Any:
    """With a session, or as the stateless revision has it."""
    params = {"name": tool, "arguments": arguments}
    if known is None:
        body, headers = stateless_request("tools/call", params)
        return await post(peer, path, token, body, **headers, **{"mcp-name": tool})
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    return await post(peer, path, token, body, **known)


def same(answer: tuple[int, dict[bytes, bytes], bytes]) -> Any:
    """An answer without the time that it took, and without how often the tool was called."""
    status, headers, body = answer
    return status, headers[b"content-type"], re.sub(rb'(executionTime|\{\\?"n)\\?": ?[\d.e-]+', b"", body)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 120))


def exposed(tool: str) -> str:
    return tool.replace(":", "__")


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "stateless"])
@pytest.mark.parametrize("exposing", [False, True], ids=["hub_call", "exposed"])
def test_a_call_through_the_hub_answers_the_same_by_the_short_way(
    town: Town, tmp_path: Path, modern: bool, exposing: bool
) -> None:
    put(town.alpha, Scripted(tmp_path, "ours", *TOOLS))
    path = f"/mcp/hub?project=alpha{'&expose=all' if exposing else ''}"

    async def test() -> None:
        async with house(town) as (made, short, long):
            known = [None if modern else await session(peer, path, OWNER) for peer in (short, long)]
            # The first ones connect the server, and learn what it has.
            await call(long, path, OWNER, "hub_search", {}, known[1])
            await call(long, path, OWNER, "ours__echo", {}, known[1])
            made.short.clear()
            for tool, params in CALLS:
                name, arguments = (
                    (exposed(tool), params) if exposing else ("hub_call", {"tool": tool, "params": params})
                )
                first = await call(short, path, OWNER, name, arguments, known[0])
                second = await call(long, path, OWNER, name, arguments, known[1])
                assert same(first) == same(second), tool
            if town.database.startswith("postgresql") and exposing:
                # Who is shown what is asked of the board there, which is not waited for on the short way.
                return
            assert made.short == [True, False, True, True, True, True, False, False, False]

    run(test)


def test_an_agent_with_the_token_of_its_run_goes_the_short_way_until_its_run_is_over(
    town: Town, tmp_path: Path
) -> None:
    ours = Scripted(tmp_path, "ours", {"name": "echo"})
    put(town.alpha, ours)
    run_ = town.board.executions.enqueue(Wish(town.dev.agent, "instance", task=town.task()))
    assert run_ is not None
    run_ = town.board.executions.start(run_.id, run_.fence)
    token = town.board.tokens.issue(Token("run", run_.agent_id, run_.project_id, run_.id))
    arguments = {"tool": "ours:echo", "params": {}}

    async def test() -> None:
        async with house(town) as (made, short, _):
            known = await session(short, "/mcp/hub", token)
            for _ in range(3):
                _, _, body = await call(short, "/mcp/hub", token, "hub_call", arguments, known)
                assert json.loads(body)["result"]["structuredContent"]["success"] is True
            assert made.short[-1] is not made.door.remote
            await asyncio.to_thread(town.board.executions.cancel, run_.id, run_.fence)
            status, _, body = await call(short, "/mcp/hub", token, "hub_call", arguments, known)
            assert status == 401 or "error" in json.loads(body) or json.loads(body)["result"]["isError"]
            assert ours.calls("echo") == 3

    run(test)


def test_reading_tools_are_read_without_a_task_over_http(town: Town) -> None:
    async def test() -> None:
        async with house(town) as (made, short, long):
            known = [await session(peer, "/mcp/manager", OWNER) for peer in (short, long)]
            made.short.clear()
            for tool, arguments in (("list_projects", {}), ("get_task", {"task_id": "tsk_none"}), ("nothing", {})):
                first = await call(short, "/mcp/manager", OWNER, tool, arguments, known[0])
                assert first == await call(long, "/mcp/manager", OWNER, tool, arguments, known[1])
            assert made.short == [not made.door.remote, False, False]

    run(test)


def test_nobody_comes_in_by_the_short_way_who_is_not_let_in(town: Town, tmp_path: Path) -> None:
    ours = Scripted(tmp_path, "ours", {"name": "echo", **READ})
    put(town.alpha, ours)
    path, arguments = "/mcp/hub?project=alpha", {"tool": "ours:echo", "params": {}}

    async def test() -> None:
        async with house(town) as (made, short, _):
            known = await session(short, path, OWNER)
            for _ in range(2):
                assert (await call(short, path, OWNER, "hub_call", arguments, known))[0] == 200
            sent = ours.calls("echo")
            for where, token, more, status in (
                (path, "somebody-else", {}, 401),
                (path, OWNER, {"host": "evil.example"}, 403),
                (path, OWNER, {"origin": "https://evil.example"}, 403),
                (path, OWNER, {"content-type": "text/plain"}, 415),
                (path, OWNER, {"accept": "text/html"}, 406),
                (path, OWNER, {"mcp-session-id": "forged"}, 404),
                (path, OWNER, {"mcp-protocol-version": "1999-01-01"}, 400),
                ("/mcp-hub?project=alpha", OWNER, {}, 404),
                ("/mcpXhub?project=alpha", OWNER, {}, 404),
            ):
                answer = await call(short, where, token, "hub_call", arguments, {**known, **more})
                assert (answer[0], made.short[-1]) == (status, False), (where, more)
            assert ours.calls("echo") == sent

    run(test)


def test_a_call_whose_client_has_gone_is_withdrawn_from_its_server(town: Town, tmp_path: Path) -> None:
    ours = Scripted(tmp_path, "ours", {"name": "echo"}, {"name": "never", "does": "never"})
    put(town.alpha, ours)
    path = "/mcp/hub?project=alpha"

    async def test() -> None:
        async with house(town) as (made, short, _):
            known = await session(short, path, OWNER)
            await call(short, path, OWNER, "hub_call", {"tool": "ours:echo", "params": {}}, known)
            never = call(short, path, OWNER, "hub_call", {"tool": "ours:never", "params": {}}, known)
            waiting = asyncio.ensure_future(never)
            await until(lambda: ours.calls("never"))
            assert made.short[-1]
            short.reset()
            await until(lambda: ours.lines("cancelled"))
            waiting.cancel()

    run(test)
