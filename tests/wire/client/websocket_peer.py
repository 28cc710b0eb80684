"""A server behind a WebSocket that sends whatever bytes the test wants."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from client_kit import greeting
from websockets.frames import Frame, Opcode
from websockets.utils import accept_key, apply_mask

from kumihimo.wire.client.targets import Url


def frame(data: bytes, opcode: Opcode = Opcode.TEXT, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=False)


class WebSocketPeer:
    """`upgrade` is what answers the upgrade, None for the right answer. `then` gets what comes after the greeting."""

    def __init__(
        self,
        then: Callable[[WebSocketPeer, dict[str, Any]], Awaitable[None]] | None = None,
        *,
        upgrade: bytes | None = None,
        subprotocol: str | None = "mcp",
        hangs_up: bool = True,
    ) -> None:
        self._then = then
        self._upgrade = upgrade
        self._subprotocol = subprotocol
        self._hangs_up = hangs_up
        self.heads: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.controls: list[tuple[Opcode, bytes]] = []
        self.writers: list[asyncio.StreamWriter] = []

    @property
    def methods(self) -> list[str]:
        return [request.get("method", "") for request in self.requests]

    @property
    def writer(self) -> asyncio.StreamWriter:
        return self.writers[-1]

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    @contextlib.asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Url]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        try:
            yield Url(url=f"{'wss' if tls else 'ws'}://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp?team=blue")
        finally:
            server.close()
            for writer in self.writers:
                writer.close()
            for writer in self.writers:
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            await self.send(self._upgrade if self._upgrade is not None else self._accept(head))
            while self._upgrade is None:
                await self._hear(*await self._read(reader))

    def _accept(self, head: str) -> bytes:
        (key,) = [line.split(": ")[1] for line in head.split("\r\n") if line.lower().startswith("sec-websocket-key")]
        chosen = f"Sec-WebSocket-Protocol: {self._subprotocol}\r\n" if self._subprotocol else ""
        accepted = f"Sec-WebSocket-Accept: {accept_key(key)}\r\n{chosen}"
        return f"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{accepted}\r\n".encode()

    async def _read(self, reader: asyncio.StreamReader) -> tuple[Opcode, bytes]:
        first, second = await reader.readexactly(2)
        assert second & 128, "a client masks what it sends"
        length = second & 127
        if length > 125:
            length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
        mask = await reader.readexactly(4)
        return Opcode(first & 15), bytes(apply_mask(await reader.readexactly(length), mask))

    async def _hear(self, opcode: Opcode, data: bytes) -> None:
        if opcode is not Opcode.TEXT:
            self.controls.append((opcode, data))
            if opcode is Opcode.CLOSE and self._hangs_up:
                self.writer.close()
            return
        request = json.loads(data)
        self.requests.append(request)
        if request.get("method") == "initialize":
            await self.send(frame(greeting(request)))
        elif request.get("method") == "server/discover":
            error = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "what?"}}
            await self.send(frame(json.dumps(error).encode()))
        elif "id" in request and self._then is not None:
            await self._then(self, request)
