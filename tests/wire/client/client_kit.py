"""Servers for the client side: ours on both transports, and peers that do what no server should."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import uvicorn

from kumihimo.wire.client.handshake import Introduction
from kumihimo.wire.client.targets import Command, Url
from kumihimo.wire.http import HttpServer
from kumihimo.wire.implementation import Implementation
from tests.loops import run_within
from tests.wire.wire_kit import BOUND, CANCELLED, STARTED, build

HERE = Path(__file__).parent
OURS = HERE.parent / "wire_stdio_server.py"
US = Introduction(Implementation(name="test", version="1"), seconds=BOUND, probe_seconds=BOUND)


def run(test: Coroutine[Any, Any, None]) -> None:
    run_within(BOUND * 3, test)


async def until(look: Callable[[], object]) -> None:
    async with asyncio.timeout(BOUND):
        while not look():  # noqa: ASYNC110 - what is looked at is in another process
            await asyncio.sleep(0.005)


def ours_on_stdio(**options: Any) -> Command:
    return Command(argv=(sys.executable, str(OURS)), **options)


def bad_on_stdio(mode: str, **options: Any) -> Command:
    return Command(argv=(sys.executable, "-I", "-S", str(HERE / "bad_peer.py"), mode), **options)


@contextlib.asynccontextmanager
async def ours_on_http(app: Any = None, **options: Any) -> AsyncIterator[str]:
    """The URL of our own server on a free port."""
    STARTED.clear()
    CANCELLED.clear()
    app = app or HttpServer(build(**options.pop("server", {})), **options)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve())
    await until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        if hasattr(app, "close"):
            await app.close()
        server.should_exit = True
        await serving


class Peer:
    """An HTTP server that answers each request with whatever bytes the test wants. `requests` has what came."""

    def __init__(self, answer: Callable[[Peer, dict[str, Any], asyncio.StreamWriter], Awaitable[None]]) -> None:
        self._answer = answer
        self.requests: list[dict[str, Any]] = []
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self._writers: list[asyncio.StreamWriter] = []

    @property
    def methods(self) -> list[str]:
        return [request.get("method", "") for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                lengths = [
                    int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length")
                ]
                body = await reader.readexactly(lengths[0]) if lengths else b"{}"
                self.heads.append(head)
                self.bodies.append(body)
                self.requests.append(json.loads(body))
                await self._answer(self, self.requests[-1], writer)
                await writer.drain()
        writer.close()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[Url]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        try:
            port = server.sockets[0].getsockname()[1]
            yield Url(url=f"http://127.0.0.1:{port}/mcp")
        finally:
            server.close()
            for writer in self._writers:
                writer.close()
            for writer in self._writers:
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()


class Bearer:
    """Brings tokens that are bound to nothing, and hears of no other way."""

    def lines(self, token: str, method: str, url: str) -> bytes:
        return b"Authorization: Bearer %b\r\n" % token.encode()

    def learn(self, status: int, headers: Mapping[bytes, bytes]) -> bool:
        return False


class Pass(Bearer):
    """Has an old token and, once that was refused, a new one."""

    def __init__(self) -> None:
        self.bearer = "old"

    async def token(self, url: str) -> str | None:
        return self.bearer

    def lines(self, token: str, method: str, url: str) -> bytes:
        return b"Authorization: Bearer %b\r\n" % token.encode()

    def learn(self, status: int, headers: Mapping[bytes, bytes]) -> bool:
        return False

    async def challenged(
        self, url: str, status: int, headers: Mapping[bytes, bytes], token: str | None, attempt: int
    ) -> bool:
        renewed, self.bearer = self.bearer == "old", "new"
        return renewed or token == "old"


def http(body: bytes, *, status: str = "200 OK", kind: str = "application/json", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def result(request: dict[str, Any], **fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request.get("id"), "result": fields}).encode()


def greeting(request: dict[str, Any], version: str = "2025-11-25") -> bytes:
    info = {"name": "peer", "version": "1"}
    return result(request, protocolVersion=version, capabilities={"tools": {}}, serverInfo=info)


def greets(
    then: Callable[[Peer, dict[str, Any], asyncio.StreamWriter], Awaitable[None]], *, session: str | None = None
) -> Peer:
    """A peer of the older revisions that shakes hands properly, and then does as it is told."""

    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        method = request.get("method", "")
        if method == "initialize":
            writer.write(http(greeting(request), more=f"Mcp-Session-Id: {session}\r\n" if session else ""))
        elif method == "server/discover":
            writer.write(http(b"what?", status="400 Bad Request", kind="text/plain"))
        elif method.startswith("notifications/"):
            writer.write(http(b"", status="202 Accepted"))
        else:
            await then(peer, request, writer)

    return Peer(answer)


def discovers(then: Callable[[Peer, dict[str, Any], asyncio.StreamWriter], Awaitable[None]]) -> Peer:
    """A peer of the stateless revision that greets properly, and then does as it is told."""

    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request.get("method") == "server/discover":
            info = {"io.modelcontextprotocol/serverInfo": {"name": "peer", "version": "1"}}
            found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "_meta": info}
            writer.write(http(result(request, resultType="complete", **found)))
        else:
            await then(peer, request, writer)

    return Peer(answer)
