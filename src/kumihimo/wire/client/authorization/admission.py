"""Connections that bring a token: a request that is refused is sent again with another, where that can be had.

A server that answers 401 or 403 has not looked at what it was asked, so that nothing is carried out twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from typing import NamedTuple

from kumihimo.wire.client.authorization import addresses
from kumihimo.wire.client.authorization.authorization import MOST_CORRECTIONS, MOST_REFUSALS, Authorization
from kumihimo.wire.client.call import Call
from kumihimo.wire.client.errors import ClientError, ConnectionLost
from kumihimo.wire.client.http_answer import HttpAnswer
from kumihimo.wire.client.http_connection import Exchange, HttpConnection
from kumihimo.wire.client.http_pool import HttpPool
from kumihimo.wire.client.targets import Url

_MOST_BYTES = 64 * 1024


class _Refusal(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    parts: list[bytes]
    # Whether it was refused only because it did not look as it has to.
    again: bool


class Admitted:
    """One request and its answer, as a connection has them. It takes another connection each time that it is sent."""

    def __init__(self, pool: AuthorizedPool, connection: HttpConnection, token: str | None) -> None:
        self._pool = pool
        self._connection = connection
        self._token = token
        self._request = b""
        self._exchange: Exchange | None = None
        self._refusal: _Refusal | None = None
        self._attempt = 0
        self._corrections = 0

    def ask(self, request: bytes, exchange: Exchange) -> None:
        self._request, self._exchange = request, exchange
        self._connection.ask(self._pool.with_token(request, self._token), self)

    def drop(self, exchange: Exchange) -> None:
        """The answer is not wanted any more. A token that is being asked for is: it is not only for this request."""
        if self._exchange is exchange:
            self._exchange = None
            self._connection.drop(self)

    def close(self) -> None:
        self._connection.close()

    # What the connection says.

    def began(self, status: int, headers: dict[bytes, bytes]) -> None:
        again = self._pool.learn(status, headers) and self._corrections < MOST_CORRECTIONS
        if again or (status in (401, 403) and self._attempt < MOST_REFUSALS):
            self._refusal = _Refusal(status, headers, [], again)
        elif self._exchange is not None:
            self._exchange.began(status, headers)

    def came(self, data: bytes) -> None:
        if self._refusal is None:
            if self._exchange is not None:
                self._exchange.came(data)
        elif sum(map(len, self._refusal.parts)) < _MOST_BYTES:
            self._refusal.parts.append(data)

    def ended(self) -> None:
        if self._refusal is not None:
            refusal, self._refusal = self._refusal, None
            self._pool.start(self, refusal)
        elif self._exchange is not None:
            self._exchange.ended()

    def broke(self, error: ClientError) -> None:
        if self._refusal is not None:
            # What counts of it has come.
            self.ended()
        elif self._exchange is not None:
            self._exchange.broke(error)

    async def try_again(self, refusal: _Refusal) -> None:
        pool, exchange = self._pool, self._exchange
        if exchange is None:
            return
        call = exchange.call if isinstance(exchange, HttpAnswer) else None
        with _held(call):
            await self._ask_again(pool, exchange, refusal)

    async def _ask_again(self, pool: AuthorizedPool, exchange: Exchange, refusal: _Refusal) -> None:
        try:
            if refusal.again:
                self._corrections += 1
            elif await pool.challenged(refusal.status, refusal.headers, self._token, self._attempt):
                self._attempt += 1
            else:
                _pass_on(refusal, exchange)
                return
            connection, token = await pool.take()
            request = pool.with_token(self._request, token)
        except ClientError as error:
            exchange.broke(error)
            return
        except BaseException:
            exchange.broke(ConnectionLost("the session was closed", delivered=False))
            raise
        if self._exchange is None:
            connection.close()
            return
        self._connection, self._token = connection, token
        connection.ask(request, self)


class AuthorizedPool:
    """Like the pool that it has its connections from."""

    def __init__(self, target: Url, authorization: Authorization) -> None:
        self._pool = HttpPool(target)
        self._url = target.url
        self._authorization = authorization
        self._tasks: set[asyncio.Task[None]] = set()
        self.address = self._pool.address
        self.host = self._pool.host
        self.path = self._pool.path

    def ready(self) -> Admitted | None:
        """None: whether there is a token has to be asked first."""
        return None

    async def connect(self) -> Admitted:
        """ClientError where the server can't be reached, or a token can't be renewed that should be."""
        connection, token = await self.take()
        return Admitted(self, connection, token)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._pool.close()

    async def take(self) -> tuple[HttpConnection, str | None]:
        token = await self._authorization.token(self._url)
        return self._pool.ready() or await self._pool.connect(), token

    async def challenged(self, status: int, headers: dict[bytes, bytes], token: str | None, attempt: int) -> bool:
        return await self._authorization.challenged(self._url, status, headers, token, attempt)

    def learn(self, status: int, headers: dict[bytes, bytes]) -> bool:
        return self._authorization.learn(status, headers)

    def with_token(self, request: bytes, token: str | None) -> bytes:
        if token is None:
            return request
        first, _, rest = request.partition(b"\r\n")
        method, path, _ = first.decode("latin-1").split(" ")
        lines = self._authorization.lines(token, method, addresses.base(self._url) + path)
        return b"%b\r\n%b%b" % (first, lines, rest)

    def start(self, admitted: Admitted, refusal: _Refusal) -> None:
        task = asyncio.get_running_loop().create_task(admitted.try_again(refusal))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@contextlib.contextmanager
def _held(call: Call | None) -> Generator[None]:
    """The time of a call stands still until we are let in: a person may be asked, and the server is not to blame."""
    if call is None:
        yield
        return
    call.allowance.hold()
    try:
        yield
    finally:
        call.allowance.release()


def _pass_on(refusal: _Refusal, exchange: Exchange) -> None:
    exchange.began(refusal.status, refusal.headers)
    for part in refusal.parts:
        exchange.came(part)
    exchange.ended()
