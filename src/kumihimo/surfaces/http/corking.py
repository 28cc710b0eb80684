"""HTTP with less ado: an answer is written in one piece, and connections that wait share their timers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kumihimo.wire.deadlines import Deadlines

_FEW = 2


class Corked:
    """A transport that writes what it was given at the end of the turn of the loop: head and body of an answer together,
    which costs one system call and wakes the client once."""

    __slots__ = ("_loop", "_parts", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)

    def flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts:
            self._transport.write(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Timer:
    """What stands for a timer of its own."""

    __slots__ = ("_deadlines", "_expire", "_tick")

    def __init__(self, deadlines: Deadlines, seconds: float, expire: Callable[[], None]) -> None:
        self._deadlines = deadlines
        self._expire = expire
        self._tick = deadlines.add(seconds, expire)

    def cancel(self) -> None:
        self._deadlines.remove(self._tick, self._expire)


class SharedTimers:
    """A loop whose timers are not on the dot and cost little: each connection sets one after every answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._deadlines = Deadlines()
        self.create_task = loop.create_task

    def call_later(self, seconds: float, call: Callable[[], None]) -> _Timer:
        return _Timer(self._deadlines, seconds, call)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loop, name)


class CorkedProtocol(HttpToolsProtocol):
    # One for all connections of a process.
    _timers: SharedTimers | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        loop = asyncio.get_running_loop()
        if CorkedProtocol._timers is None or CorkedProtocol._timers.loop is not loop:
            CorkedProtocol._timers = SharedTimers(loop)
        self.loop = cast("asyncio.AbstractEventLoop", CorkedProtocol._timers)
        self._corked = Corked(cast("asyncio.Transport", transport), loop)
        super().connection_made(cast("asyncio.Transport", self._corked))

    def on_response_complete(self) -> None:
        # Nothing more will come of this one: where hardly anything else goes on, it need not wait for the end of the turn.
        # Where much does, answers that leave together bring requests that come together.
        if len(self.tasks) <= _FEW:
            self._corked.flush()
        super().on_response_complete()
