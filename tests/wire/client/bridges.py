"""Our own server, a process on stdio, behind the carriers that it does not have itself."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from client_kit import Peer, chunk, http
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

OURS = Path(__file__).parent.parent / "wire_stdio_server.py"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

# What the servers behind the bridges write to stderr.
SAID: list[str] = []


class Process:
    """Lines of the server go to `hear`, in order; `close` ends it."""

    def __init__(self, hear: Callable[[bytes], Awaitable[None]]) -> None:
        self._hear = hear

    async def start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, str(OURS), stdin=pipe, stdout=pipe, stderr=pipe, limit=2**24
        )
        SAID.clear()
        self._reading = asyncio.gather(self._read(), self._read_errors())

    async def say(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        await self._process.stdin.drain()

    async def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            with contextlib.suppress(ConnectionError, ConnectionClosed):
                await self._hear(line.rstrip(b"\n"))

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            SAID.append(line.decode())


@contextlib.asynccontextmanager
async def ours_on_sse() -> AsyncIterator[str]:
    """The URL of the stream of events."""
    processes: dict[str, Process] = {}

    async def answer(peer: Peer, request: dict, writer: asyncio.StreamWriter) -> None:
        method, path, _ = peer.heads[-1].split(" ", 2)
        if method == "GET":

            async def hear(line: bytes) -> None:
                writer.write(chunk(b"event: message\r\ndata: " + line + b"\r\n\r\n"))
                await writer.drain()

            place = f"/messages/?session_id={len(processes)}"
            processes[place] = Process(hear)
            await processes[place].start()
            writer.write(STREAM + chunk(b"event: endpoint\r\ndata: " + place.encode() + b"\r\n\r\n"))
        elif path not in processes:
            writer.write(http(b"", status="405 Method Not Allowed"))
        else:
            writer.write(http(b"Accepted", status="202 Accepted", kind="text/plain"))
            await processes[path].say(peer.bodies[-1])

    async with Peer(answer).listening() as url:
        yield url.url
        for process in processes.values():
            await process.close()


@contextlib.asynccontextmanager
async def ours_on_websocket() -> AsyncIterator[str]:
    async def handle(connection: ServerConnection) -> None:
        process = Process(lambda line: connection.send(line.decode()))
        await process.start()
        async for message in connection:
            assert isinstance(message, str)
            await process.say(message.encode())
        await process.close()

    async with serve(handle, "127.0.0.1", 0, subprotocols=[Subprotocol("mcp")], max_size=None) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
