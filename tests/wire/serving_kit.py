"""HTTP/1.1 by hand, against our own listener: what its tests share."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from kumihimo.wire.serving.listener import Listener

BOUND = 20.0
Application = Callable[[Any, Any, Any], Awaitable[None]]


async def answer(send: Any, body: bytes, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def read_body(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        body += message["body"]
        if not message["more_body"]:
            return body


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with what it was asked."""
    body = await read_body(receive)
    told = f"{scope['method']} {scope['path']}?{scope['query_string'].decode()} ".encode() + body
    await answer(send, told)


class Peer:
    """Somebody who speaks HTTP by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> tuple[int, dict[bytes, bytes], bytes]:
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), BOUND)
        first, *lines = head[:-4].split(b"\r\n")
        headers = dict(line.split(b": ", 1) for line in lines)
        if headers.get(b"transfer-encoding") == b"chunked":
            return int(first.split()[1]), headers, await self.chunks()
        body = await asyncio.wait_for(self.reader.readexactly(int(headers.get(b"content-length", 0))), BOUND)
        return int(first.split()[1]), headers, body

    async def chunks(self) -> bytes:
        body = b""
        while size := int(await asyncio.wait_for(self.reader.readline(), BOUND), 16):
            body += (await asyncio.wait_for(self.reader.readexactly(size + 2), BOUND))[:-2]
        await self.reader.readexactly(2)
        return body

    async def end(self) -> bytes:
        """All that still comes until the other side closes."""
        return await asyncio.wait_for(self.reader.read(), BOUND)

    def reset(self) -> None:
        """Gone without a word."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Place:
    def __init__(self, listener: Listener, port: int) -> None:
        self.listener, self.port = listener, port
        self._peers: list[Peer] = []

    async def peer(self) -> Peer:
        peer = Peer(*await asyncio.open_connection("127.0.0.1", self.port))
        self._peers.append(peer)
        return peer

    def leave(self) -> None:
        for peer in self._peers:
            peer.writer.close()


@contextlib.asynccontextmanager
async def served(application: Application, **options: Any) -> AsyncGenerator[Place]:
    listening = socket.create_server(("127.0.0.1", 0))
    listener = Listener(application, **options)
    await listener.start(listening)
    place = Place(listener, listening.getsockname()[1])
    try:
        yield place
    finally:
        place.leave()
        await listener.close(1.0)
        assert listener.connections.all() == ()
        assert not listener.running
