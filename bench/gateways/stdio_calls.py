"""Drives the server itself over its pipes, on the same event loop as the gateways are driven on."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Iterator
from itertools import cycle

import uvloop
from driving.processes import usage
from driving.stdio_driver import StdioServer
from exchanges import PATIENCE_SECONDS, Cell, Exchange, cell, require_expected


class DirectServer(StdioServer):
    def measure(self, calls: list[Exchange], in_flight: int, seconds: float) -> Cell:
        """RuntimeError where a call fails, or an answer is not the next one."""
        pid = self.process.pid
        before, started = usage(pid), time.perf_counter()
        times = uvloop.run(self._take(cycle(calls), in_flight, started + seconds))
        took = time.perf_counter() - started
        return cell(times, took, usage(pid) - before)

    async def _take(self, calls: Iterator[Exchange], in_flight: int, deadline: float) -> list[float]:
        loop = asyncio.get_running_loop()
        conversation = _Conversation(self._writer, calls, deadline)

        def hear() -> None:
            try:
                conversation.hear(self._read())
            except (RuntimeError, EOFError) as error:
                conversation.over.set_exception(error)

        loop.add_reader(self._reader, hear)
        try:
            conversation.ask(in_flight)
            async with asyncio.timeout_at(loop.time() + deadline - time.perf_counter() + PATIENCE_SECONDS):
                await conversation.over
        finally:
            loop.remove_reader(self._reader)
        return conversation.times


class _Conversation:
    """So many calls under way. `echo` answers in the order in which it was asked."""

    def __init__(self, writer: int, calls: Iterator[Exchange], deadline: float) -> None:
        self.times: list[float] = []
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writer = writer
        self._calls = calls
        self._deadline = deadline
        self._under_way: deque[tuple[float, bytes]] = deque()
        self._rest = b""

    def ask(self, how_many: int) -> None:
        asked = [next(self._calls) for _ in range(how_many)]
        now = time.perf_counter()
        self._under_way += [(now, each.expected) for each in asked]
        os.write(self._writer, b"".join(each.message + b"\n" for each in asked))

    def hear(self, data: bytes) -> None:
        now = time.perf_counter()
        *lines, self._rest = (self._rest + data).split(b"\n")
        answers = [line for line in lines if b'"id":' in line]  # what else it says is told unasked
        for answer in answers:
            asked, expected = self._under_way.popleft()
            require_expected(answer, expected)
            self.times.append((now - asked) * 1000)
        if answers and now < self._deadline:
            self.ask(len(answers))
        if not self._under_way and not self.over.done():
            self.over.set_result(None)
