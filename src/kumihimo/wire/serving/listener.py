"""The listener: an ASGI application on a listening socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kumihimo.wire.serving.connection import Connection
from kumihimo.wire.serving.exchange import Exchange
from kumihimo.wire.serving.head import Heads

if TYPE_CHECKING:
    import ssl

# How long a client may be silent where it is its turn. Long: who uses a connection again in the very moment that it is closed
# does not know whether its request was read.
SILENCE_SECONDS: Final = 75.0
# Where more than so many are answered at once, answers leave at the end of the turn of the loop.
_FEW: Final = 2


class Connections:
    """Those that are open. A set, and something to wait for."""

    def __init__(self) -> None:
        self._open: set[Any] = set()
        self._none: asyncio.Event = asyncio.Event()
        self._none.set()

    def add(self, connection: Any) -> None:
        self._open.add(connection)
        self._none.clear()

    def discard(self, connection: Any) -> None:
        self._open.discard(connection)
        if not self._open:
            self._none.set()

    def all(self) -> tuple[Any, ...]:
        return tuple(self._open)

    async def gone(self) -> None:
        await self._none.wait()


class Listener:
    """Made inside a running loop. `upgrade` makes what a connection becomes that asks for a WebSocket.

    An application may have a method `begin(exchange)`, which is asked first of every request: whether it answers by the exchange
    itself, now or later, for which no task is made.
    """

    def __init__(
        self,
        application: Any,
        *,
        upgrade: Callable[[Connections], asyncio.Protocol] | None = None,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        self.application = application
        self.loop = asyncio.get_running_loop()
        self.connections = Connections()
        self.running: set[Exchange] = set()
        self.heads = Heads()
        self._begin: Callable[[Exchange], bool] | None = getattr(application, "begin", None)
        self._upgrade = upgrade
        self._silence_seconds = silence_seconds
        self._unflushed: list[Connection] = []
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.TimerHandle | None = None

    async def start(self, listening: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        self._server = await self.loop.create_server(lambda: Connection(self), sock=listening, ssl=tls)
        self._sweep_later()

    async def close(self, seconds: float) -> None:
        """No new connection; what is under way is answered, for so long; then it is cut off."""
        assert self._server is not None, "started before"
        self._server.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        for connection in self.connections.all():
            connection.shutdown()
        try:
            async with asyncio.timeout(seconds):
                await self.connections.gone()
        except TimeoutError:
            for connection in self.connections.all():
                connection.abort()
        tasks = [exchange.task for exchange in self.running if exchange.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def upgraded(self) -> asyncio.Protocol | None:
        return None if self._upgrade is None else self._upgrade(self.connections)

    def begins(self, exchange: Exchange) -> bool:
        """Whether the application answers without a task. One that has no such way has no `begin`."""
        if self._begin is None:
            return False
        try:
            return self._begin(exchange)
        except Exception as fault:  # noqa: BLE001 - the outermost frame: a mistake of ours is one bad answer
            # Not given to the long way: nobody knows how far it was.
            exchange.go_on(partial(_raise, fault))
            return True

    @property
    def busy(self) -> bool:
        return len(self.running) > _FEW

    def flush_soon(self, connection: Connection) -> None:
        """At the end of this turn of the loop."""
        if not self._unflushed:
            self.loop.call_soon(self._flush_all)
        self._unflushed.append(connection)

    def _flush_all(self) -> None:
        unflushed, self._unflushed = self._unflushed, []
        for connection in unflushed:
            connection.flush()

    def _sweep_later(self) -> None:
        self._sweeper = self.loop.call_later(self._silence_seconds / 5, self._sweep)

    def _sweep(self) -> None:
        before = self.loop.time() - self._silence_seconds
        for connection in self.connections.all():
            if isinstance(connection, Connection):
                connection.close_if_silent(before)
        self._sweep_later()


async def _raise(fault: Exception, *_: Any) -> None:
    raise fault
