"""Connections to one server, kept for the next request while they are good."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from urllib.parse import urlsplit

from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.client.http_connection import HttpConnection
from kumihimo.wire.client.targets import Url

_MOST_IDLE = 64


class HttpPool:
    """`path` and `host` are what a request to this server says. ConnectionFailed where the URL is none."""

    def __init__(self, target: Url) -> None:
        try:
            parts = urlsplit(target.url)
            port = parts.port
        except ValueError as error:
            raise ConnectionFailed(f"{target.url}: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConnectionFailed(f"{target.url} is not an http:// or https:// URL")
        self._hostname = parts.hostname
        self._port = port or (443 if parts.scheme == "https" else 80)
        self._tls = (target.tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._target = target
        self._idle: deque[HttpConnection] = deque()
        self._busy: set[HttpConnection] = set()
        self._closed = False
        self.host = parts.netloc.rpartition("@")[2].encode("ascii", "ignore")
        self.path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}".encode("ascii", "ignore")

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
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._target.connect_seconds):
                _, connection = await loop.create_connection(HttpConnection, self._hostname, self._port, ssl=self._tls)
        except TimeoutError:
            raise ConnectionFailed(
                f"{self._target.url}: no connection within {self._target.connect_seconds:g} s"
            ) from None
        except (OSError, UnicodeError) as error:
            raise ConnectionFailed(f"{self._target.url}: {error}") from error
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
