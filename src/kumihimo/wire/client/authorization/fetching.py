"""One question to whoever has metadata or tokens: bounded in time and size, and followed nowhere else."""

from __future__ import annotations

import asyncio
import ssl
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from kumihimo.wire.client.authorization import addresses
from kumihimo.wire.client.authorization.errors import AuthorizationFailed
from kumihimo.wire.client.errors import ClientError, ConnectionFailed, ConnectionLost
from kumihimo.wire.client.http_pool import HttpPool
from kumihimo.wire.client.targets import Url

SECONDS = 10.0
MOST_BYTES = 1024 * 1024
_FORM = "application/x-www-form-urlencoded"


class Fetched(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    body: bytes


class _Whole:
    """An answer that is waited for as a whole."""

    def __init__(self, most_bytes: int) -> None:
        self.done: asyncio.Future[Fetched] = asyncio.get_running_loop().create_future()
        self._most_bytes = most_bytes
        self._size = 0
        self._parts: list[bytes] = []
        self._status = 0
        self._headers: dict[bytes, bytes] = {}

    def began(self, status: int, headers: dict[bytes, bytes]) -> None:
        self._status, self._headers = status, headers

    def came(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= self._most_bytes:
            self._parts.append(data)
        elif not self.done.done():
            self.done.set_exception(AuthorizationFailed(f"an answer has more than {self._most_bytes} bytes"))

    def ended(self) -> None:
        if not self.done.done():
            self.done.set_result(Fetched(self._status, self._headers, b"".join(self._parts)))

    def broke(self, error: ClientError) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class Fetcher:
    """For the server at `near`. ConnectionFailed where nobody answers in time, AuthorizationFailed for what may not be
    asked or is too long."""

    def __init__(
        self, near: str, tls: ssl.SSLContext | None = None, *, seconds: float = SECONDS, most_bytes: int = MOST_BYTES
    ) -> None:
        self.near = near
        self._tls = tls
        self._seconds = seconds
        self._most_bytes = most_bytes

    def at(self, near: str) -> Fetcher:
        """The same for another server."""
        return Fetcher(near, self._tls, seconds=self._seconds, most_bytes=self._most_bytes)

    async def get(self, url: str) -> Fetched:
        return await self._ask("GET", url, {"Accept": "application/json"})

    async def post_json(self, url: str, value: object, *, accept: str = "application/json") -> Fetched:
        headers = {"Accept": accept, "Content-Type": "application/json"}
        return await self._ask("POST", url, headers, msgspec.json.encode(value))

    async def post_form(self, url: str, fields: dict[str, str], headers: dict[str, str]) -> Fetched:
        headers = {"Accept": "application/json", "Content-Type": _FORM, **headers}
        return await self._ask("POST", url, headers, urlencode(fields).encode())

    async def _ask(self, method: str, url: str, headers: dict[str, str], body: bytes | None = None) -> Fetched:
        addresses.check(url, self.near)
        if self._tls is None and url.startswith("https"):
            # Reading all that is trusted takes a while: once is enough.
            self._tls = ssl.create_default_context()
        pool = HttpPool(Url(url=url, tls=self._tls, connect_seconds=self._seconds))
        length = {} if body is None else {"Content-Length": str(len(body))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**headers, **length}.items()).encode("latin-1")
        head = b"%b %b HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n" % (method.encode(), pool.path, pool.host)
        answer = _Whole(self._most_bytes)
        try:
            async with asyncio.timeout(self._seconds):
                connection = await pool.connect()
                connection.ask(head + lines + b"\r\n" + (body or b""), answer)
                return await answer.done
        except TimeoutError:
            raise ConnectionFailed(f"{addresses.base(url)}: no answer within {self._seconds:g} s") from None
        except ConnectionLost as error:
            raise ConnectionFailed(f"{addresses.base(url)}: {error.reason}") from None
        finally:
            pool.close()
