"""Servers over HTTP whose stream of news is cut: what was said meanwhile is not missed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kumihimo import Hub
from tests.hub.hub_kit import StillTiming, run, until
from tests.wire.client.client_kit import Peer, chunk, http, result

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ACKNOWLEDGED = (
    b'data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",'
    b'"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"%d"}}}\n\n'
)
TELLS = {"tools": {"listChanged": True}}
INFO = {"name": "news", "version": "1"}


class News:
    """A server of either era that tells when its list changes, by a stream that the test may cut. `shut`: there is none."""

    def __init__(self, era: str) -> None:
        self.peer = Peer(self._answer)
        self.tools = ["old"]
        self.shut = False
        self._stateless = era == "stateless"
        self._cuts: list[asyncio.Event] = []

    @property
    def streams(self) -> int:
        return len(self._cuts)

    @property
    def asked(self) -> int:
        return sum(
            self._is_listening(head, name) for head, name in zip(self.peer.heads, self.peer.methods, strict=True)
        )

    def cut(self) -> None:
        self._cuts[-1].set()

    def _is_listening(self, head: str, method: str) -> bool:
        return method == "subscriptions/listen" if self._stateless else head.startswith("GET ")

    async def _answer(self, peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        method = request.get("method", "")
        if self._is_listening(peer.heads[-1], method):
            await self._listened_to(request, writer)
        elif method == "server/discover" and self._stateless:
            about = {"_meta": {"io.modelcontextprotocol/serverInfo": INFO}, "supportedVersions": ["2026-07-28"]}
            writer.write(http(result(request, resultType="complete", capabilities=TELLS, **about)))
        elif method == "server/discover":
            writer.write(http(b"what?", status="400 Bad Request", kind="text/plain"))
        elif method == "initialize":
            told = {"protocolVersion": "2025-11-25", "capabilities": TELLS, "serverInfo": INFO}
            writer.write(http(result(request, **told)))
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]
            writer.write(http(result(request, resultType="complete", tools=tools)))
        else:
            writer.write(http(b"", status="202 Accepted"))

    async def _listened_to(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if self.shut:
            writer.write(http(b"", status="405 Method Not Allowed"))
            return
        writer.write(STREAM + (chunk(ACKNOWLEDGED % request["id"]) if self._stateless else b""))
        cut = asyncio.Event()
        self._cuts.append(cut)
        await cut.wait()
        writer.write(chunk(b""))


async def names(hub: Hub) -> list[str]:
    return [tool.name for tool in await hub.list_tools()]


in_both_eras = pytest.mark.parametrize("era", ["handshake", "stateless"])


@in_both_eras
def test_a_stream_of_news_that_was_cut_is_asked_for_again_and_nothing_is_missed(era: str) -> None:
    async def test() -> None:
        server, told = News(era), asyncio.Event()
        async with (
            server.peer.listening() as url,
            Hub(servers=[{"name": "news", "url": url.url}], timing=StillTiming()) as hub,
        ):
            hub.on_changed = told.set
            await hub.connect("news")
            await until(lambda: server.streams == 1)
            assert await names(hub) == ["news:old"]
            for times in (2, 3):
                told.clear()
                server.tools.append(f"new-{times}")
                server.cut()
                await until(lambda times=times: server.streams == times)
                await told.wait()
                assert await names(hub) == [f"news:{name}" for name in server.tools]

    run(test())


@in_both_eras
def test_it_is_asked_for_more_and_more_seldom_where_it_is_cut_at_once(era: str) -> None:
    async def test() -> None:
        server, timing = News(era), StillTiming()
        async with (
            server.peer.listening() as url,
            Hub(servers=[{"name": "news", "url": url.url}], timing=timing) as hub,
        ):
            await hub.connect("news")
            for times in range(1, 9):
                await until(lambda times=times: server.streams == times)
                server.cut()
            await until(lambda: server.streams == 9)
            assert timing.slept[:8] == [2, 4, 8, 16, 32, 60, 60, 60]
            timing.at += 61
            server.cut()
            await until(lambda: server.streams == 10)
            assert timing.slept[8] == 1

    run(test())


@in_both_eras
def test_a_server_without_such_a_stream_is_asked_for_it_once(era: str) -> None:
    async def test() -> None:
        server, timing = News(era), StillTiming()
        server.shut = True
        async with (
            server.peer.listening() as url,
            Hub(servers=[{"name": "news", "url": url.url}], timing=timing) as hub,
        ):
            await hub.connect("news")
            await until(lambda: server.asked == 1)
            assert await names(hub) == ["news:old"]
            assert (server.asked, timing.slept) == (1, [])

    run(test())
