"""Drives a server over HTTP: connections that stay open, each with one request in flight, nothing decoded."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from itertools import cycle
from typing import cast

import uvloop
from driving.messages import INITIALIZE, INITIALIZED, REVISION
from driving.processes import Usage, usage

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"transfer-encoding: *chunked", re.IGNORECASE)
LAST_CHUNK = b"0\r\n\r\n"
_SESSION = re.compile(rb"mcp-session-id: *([^\r]+)", re.IGNORECASE)


class HttpTarget:
    """One endpoint, with the session that `initialize` opens."""

    def __init__(self, port: int, path: str, pid: int, token: str | None = None) -> None:
        self.port = port
        self.pid = pid
        self._head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n".encode()
        self._head += b"accept: application/json, text/event-stream\r\n"
        if token is not None:
            self._head += f"authorization: Bearer {token}\r\n".encode()

    def open_session(self) -> None:
        head, _ = asyncio.run(self._ask(INITIALIZE))
        session = _SESSION.search(head)
        self._head += f"mcp-protocol-version: {REVISION}\r\n".encode()
        if session is not None:
            self._head += b"mcp-session-id: %b\r\n" % session[1]
        asyncio.run(self._ask(INITIALIZED))

    def ask(self, message: bytes) -> bytes:
        """One request on a connection of its own; chunks are not put together."""
        return asyncio.run(self._ask(message))[1]

    def request(self, message: bytes) -> bytes:
        return self._head + b"content-length: %d\r\n\r\n" % len(message) + message

    def rate(self, calls: list[bytes], in_flight: int, seconds: float) -> Usage:
        requests = [self.request(message) for message in calls]
        before, started = usage(self.pid), time.perf_counter()
        answered = uvloop.run(self._drive(cycle(requests), in_flight, started + seconds))
        took = time.perf_counter() - started
        return Usage(answered / took, (usage(self.pid) - before) * 1e6 / answered)

    async def _drive(self, requests: Iterator[bytes], in_flight: int, deadline: float) -> int:
        loop = asyncio.get_running_loop()
        lines = [_Line(requests, deadline) for _ in range(in_flight)]
        for line in lines:
            await loop.create_connection(lambda line=line: line, "127.0.0.1", self.port)
        await asyncio.gather(*(line.over for line in lines))
        return sum(line.answered for line in lines)

    async def _ask(self, message: bytes) -> tuple[bytes, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(self.request(message))
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(f"refused: {head[:400]!r}")
        length = LENGTH.search(head)
        if length is not None:
            body = await reader.readexactly(int(length[1]))
        else:
            body = await reader.readuntil(LAST_CHUNK) if CHUNKED.search(head) else b""
        writer.close()
        return head, body


class _Line(asyncio.Protocol):
    """One connection: the next request goes out when the last answer is whole."""

    def __init__(self, requests: Iterator[bytes], deadline: float) -> None:
        self.answered = 0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._requests = requests
        self._deadline = deadline
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        length = LENGTH.search(self._buffer, 0, end)
        if length is None or not self._buffer.startswith(b"HTTP/1.1 200"):
            self._end(RuntimeError(f"not an answer to measure: {self._buffer[:400]!r}"))
            return
        if len(self._buffer) < end + 4 + int(length[1]):
            return
        if b'"isError":true' in self._buffer or b'"error":{' in self._buffer:
            self._end(RuntimeError(f"a call failed: {self._buffer[:400]!r}"))
            return
        self._buffer = b""
        self.answered += 1
        if time.perf_counter() < self._deadline:
            self._transport.write(next(self._requests))
        else:
            self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_exception(exc or EOFError("the server has closed a connection"))

    def _end(self, error: Exception | None) -> None:
        if error is None:
            self.over.set_result(None)
        else:
            self.over.set_exception(error)
        self._transport.close()
