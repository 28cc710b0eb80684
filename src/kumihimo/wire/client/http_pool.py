"""Connections to one server, kept for the next request while they are good."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from kumihimo.wire.client.address import Address
from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.client.http_connection import HttpConnection, Line
from kumihimo.wire.client.targets import Url

_MOST_IDLE = 64


class Pool(Protocol):
    address: Address
    host: bytes
    path: bytes

    def ready(self) -> Line | None: ...

    async def connect(self) -> Line: ...

    def close(self) -> None: ...


def pool_for(target: Url) -> Pool:
    """Connections to the server, with a token where it wants one."""
    if target.authorization is None:
        return HttpPool(target)
    # Few servers need it.
    from kumihimo.wire.client.authorization.admission import AuthorizedPool

    return AuthorizedPool(target, target.authorization)


class HttpPool:
    """`path` and `host` are what a request to this server says. ConnectionFailed where the URL is none."""

    def __init__(self, target: Url) -> None:
        self.address = Address(target)
        self._target = target
        self._idle: deque[HttpConnection] = deque()
        self._busy: set[HttpConnection] = set()
        self._closed = False
        self.host = self.address.host
        self.path = self.address.path

    def ready(self) -> HttpConnection | None:
        """One that is open and unused; None where there is none. The one used last is the freshest."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if connection.closed:
                continue
            if now - connection.idle_since < self._target.idle_seconds:
                self._busy.add(connection)
                return connection
            connection.close()
        return None

    async def connect(self) -> HttpConnection:
        """A new one. ConnectionFailed where nobody is there."""
        connection = await self.address.connect(HttpConnection)
        if self._closed:
            connection.close()
            raise ConnectionFailed("the session was closed")
        connection.on_idle = self._put_back
        connection.on_closed = self._busy.discard
        self._busy.add(connection)
        return connection

    def close(self) -> None:
        self._closed = True
        for connection in (*self._idle, *self._busy):
            connection.close()
        self._idle.clear()

    def _put_back(self, connection: HttpConnection) -> None:
        self._busy.discard(connection)
        if self._closed or len(self._idle) >= _MOST_IDLE:
            connection.close()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)
        while self._idle and self._idle[0].closed:
            self._idle.popleft()
