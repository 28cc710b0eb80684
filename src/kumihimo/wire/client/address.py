"""Where on the network a server is, as its URL says."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.client.refusals import why_not_connected
from kumihimo.wire.client.targets import Url

AnyProtocol = TypeVar("AnyProtocol", bound=asyncio.Protocol)


class Address:
    """`host` and `path` are what a request to it says. ConnectionFailed where the URL is none, or of another scheme."""

    def __init__(self, target: Url, plain: str = "http", secure: str = "https") -> None:
        try:
            parts = urlsplit(target.url)
            _ = parts.port
        except ValueError as error:
            raise ConnectionFailed(f"{target.url}: {error}") from None
        if parts.scheme not in (plain, secure) or not parts.hostname:
            raise ConnectionFailed(f"{target.url} is not an address with {plain}:// or {secure}://")
        self._target = target
        self._secure = secure
        self.hostname = parts.hostname
        self.port = self._port(parts)
        self.tls = (target.tls or ssl.create_default_context()) if parts.scheme == secure else None
        self.host = parts.netloc.rpartition("@")[2].encode("ascii", "ignore")
        self.path = _path(parts)

    def path_to(self, place: str) -> bytes | None:
        """The path of a place that the server has named. None where that is at another origin, or no place at all."""
        if not place.isascii() or not place.isprintable() or " " in place:
            return None
        try:
            ours, theirs = urlsplit(self._target.url), urlsplit(urljoin(self._target.url, place))
            same = (ours.scheme, ours.hostname, self.port) == (theirs.scheme, theirs.hostname, self._port(theirs))
        except ValueError:
            return None
        return _path(theirs) if same else None

    async def connect(self, factory: Callable[[], AnyProtocol]) -> AnyProtocol:
        """A new connection. ConnectionFailed where nobody is there."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._target.connect_seconds):
                _, connection = await loop.create_connection(factory, self.hostname, self.port, ssl=self.tls)
        except TimeoutError:
            raise ConnectionFailed(
                f"{self._target.url}: no connection within {self._target.connect_seconds:g} s"
            ) from None
        except (OSError, UnicodeError) as error:
            raise ConnectionFailed(why_not_connected(error, self._target.url)) from error
        return connection

    def _port(self, parts: SplitResult) -> int:
        return parts.port or (443 if parts.scheme == self._secure else 80)


def _path(parts: SplitResult) -> bytes:
    return f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}".encode("ascii", "ignore")
