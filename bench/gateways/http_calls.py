"""Drives a gateway over HTTP and takes the time of every call; answers may be JSON or streams of events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import cycle
from typing import cast

import uvloop
from driving.http_driver import CHUNKED, LAST_CHUNK, LENGTH, HttpTarget
from driving.processes import usage
from exchanges import PATIENCE_SECONDS, Cell, Exchange, cell, require_expected


class Gateway(HttpTarget):
    def measure(self, calls: list[Exchange], in_flight: int, seconds: float) -> Cell:
        before, started = usage(self.pid), time.perf_counter()
        times = self.times(calls, in_flight, seconds)
        took = time.perf_counter() - started
        return cell(times, took, usage(self.pid) - before)

    def times(self, calls: list[Exchange], in_flight: int, seconds: float) -> list[float]:
        """How long each call took, in milliseconds. RuntimeError where one fails."""
        requests = [Exchange(self.request(each.message), each.expected) for each in calls]
        return uvloop.run(self._take(cycle(requests), in_flight, time.perf_counter() + seconds))

    async def _take(self, requests: Iterator[Exchange], in_flight: int, deadline: float) -> list[float]:
        loop = asyncio.get_running_loop()
        lines = [_Line(requests, deadline) for _ in range(in_flight)]
        for line in lines:
            await loop.create_connection(lambda line=line: line, "127.0.0.1", self.port)
        async with asyncio.timeout_at(loop.time() + deadline - time.perf_counter() + PATIENCE_SECONDS):
            await asyncio.gather(*(line.over for line in lines))
        return [milliseconds for line in lines for milliseconds in line.times]


class _Line(asyncio.Protocol):
    """One connection: the next request goes out when the last answer is whole."""

    def __init__(self, requests: Iterator[Exchange], deadline: float) -> None:
        self.times: list[float] = []
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._requests = requests
        self._deadline = deadline
        self._buffer = b""
        self._expected = b""
        self._asked = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        try:
            if not self._whole(end):
                return
            now = time.perf_counter()
            require_expected(self._buffer, self._expected)
        except RuntimeError as error:
            self._end(error)
            return
        self._buffer = b""
        self.times.append((now - self._asked) * 1000)
        if now < self._deadline:
            self._ask()
        else:
            self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_exception(exc or EOFError("the gateway has closed a connection"))

    def _ask(self) -> None:
        message, self._expected = next(self._requests)
        self._asked = time.perf_counter()
        self._transport.write(message)

    def _whole(self, end: int) -> bool:
        """Whether all of the answer is there. RuntimeError where it is none."""
        if not self._buffer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"not an answer to measure: {self._buffer[:600]!r}")
        length = LENGTH.search(self._buffer, 0, end)
        if length is not None:
            return len(self._buffer) >= end + 4 + int(length[1])
        if CHUNKED.search(self._buffer, 0, end) is None:
            raise RuntimeError(f"nobody knows where this answer ends: {self._buffer[:600]!r}")
        return self._buffer.endswith(b"\r\n" + LAST_CHUNK)

    def _end(self, error: Exception | None) -> None:
        if error is None:
            self.over.set_result(None)
        else:
            self.over.set_exception(error)
        self._transport.close()
