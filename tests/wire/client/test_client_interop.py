"""The client side against servers made with the official library."""

from __future__ import annotations

import asyncio
import sys
import warnings
from pathlib import Path
from typing import Literal

import pytest
from client_kit import US, ours_on_http, run

from kumihimo.wire.client.connect import Era, connect
from kumihimo.wire.client.errors import TimedOut
from kumihimo.wire.client.session import Session
from kumihimo.wire.client.targets import Command, Url

pytest.importorskip("mcp", reason="the official library `mcp` is not installed")

from official_server import make

SCRIPT = Path(__file__).with_name("official_server.py")
ERAS: dict[Era, str] = {"auto": "2026-07-28", "handshake": "2025-11-25"}


async def use(session: Session, era: Era) -> None:
    assert session.revision.name == ERAS[era]
    assert {tool["name"] for tool in await session.list_tools()} == {"add", "slow", "wait", "refuse"}
    answers = await asyncio.gather(*(session.call_tool("add", {"a": n, "b": 1}) for n in range(30)))
    assert [answer.structured_content["result"] for answer in answers] == list(range(1, 31))
    told: list[float] = []
    slow = await session.call_tool("slow", {"steps": 3}, on_progress=lambda progress, *_: told.append(progress))
    assert (slow.text, told) == ("done", [1, 2, 3])
    assert (await session.call_tool("refuse")).is_error
    with pytest.raises(TimedOut):
        await session.call_tool("wait", seconds=0.3)
    assert (await session.read_resource("note://one"))[0]["text"] == "one"
    prompt = await session.get_prompt("greet", {"who": "Aki"})
    assert prompt["messages"][0]["content"]["text"] == "Greet Aki."
    await session.ping()
    assert session.noise == 0


@pytest.mark.parametrize("era", ERAS)
def test_an_official_server_on_stdio_can_be_used(era: Era) -> None:
    async def test() -> None:
        command = Command(argv=(sys.executable, "-W", "ignore", str(SCRIPT)))
        async with await connect(command, US, era=era) as session:
            await use(session, era)

    run(test())


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("json_response", [False, True], ids=["stream", "json"])
def test_an_official_server_over_http_can_be_used(era: Era, json_response: bool) -> None:
    async def test() -> None:
        app = make().streamable_http_app(json_response=json_response)
        async with ours_on_http(app) as url, await connect(Url(url=url), US, era=era) as session:
            if not json_response:
                await use(session, era)
            else:
                assert (await session.call_tool("add", {"a": 1, "b": 1})).structured_content == {"result": 2}

    with warnings.catch_warnings():
        # The library warns of what newer revisions deprecate, and leaves streams to the garbage collector.
        warnings.simplefilter("ignore")
        run(test())


@pytest.mark.parametrize("carrier", ["sse", "streamable"])
def test_an_official_server_of_the_old_http_carrier_can_be_used(carrier: Literal["sse", "streamable"]) -> None:
    async def test() -> None:
        async with ours_on_http(make().sse_app()) as url:
            # The newer carrier is refused there, and the old one found.
            target = Url(url=url.replace("/mcp", "/sse"), carrier=carrier)
            async with await connect(target, US) as session:
                await use(session, "handshake")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(test())
