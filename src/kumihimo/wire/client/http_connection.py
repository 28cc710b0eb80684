"""One HTTP/1.1 connection as its client has it: one exchange at a time, kept open for the next where the server lets it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, cast

import httptools

from kumihimo.wire.client.errors import BadAnswer, ClientError, ConnectionLost

# How long the headers of an answer may be, with those after its body. No server has so much to say there.
_MOST_HEAD_BYTES = 256 * 1024


class Exchange(Protocol):
    """Whoever hears an answer as it comes: `began`, `came` any number of times, then either `ended` or `broke`."""

    def began(self, status: int, headers: dict[bytes, bytes]) -> None: ...

    def came(self, data: bytes) -> None: ...

    def ended(self) -> None: ...

    def broke(self, error: ClientError) -> None: ...


class Line(Protocol):
    """What a request is sent by."""

    def ask(self, request: bytes, exchange: Exchange) -> None: ...

    def drop(self, exchange: Exchange) -> None: ...

    def close(self) -> None: ...


class HttpConnection(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._parser: Any = None
        self._headers: dict[bytes, bytes] = {}
        # What came since the last that was no header.
        self._head_bytes = 0
        self._in_body = False
        self._until_close = False
        self._reusable = False
        self.closed = False
        # When it became idle, by the loop's clock.
        self.idle_since = 0.0
        self.on_idle: Callable[[HttpConnection], None] = _nobody
        self.on_closed: Callable[[HttpConnection], None] = _nobody

    def ask(self, request: bytes, exchange: Exchange) -> None:
        """Write a request; the answer goes to the exchange."""
        assert self._transport is not None, "it is connected before it is handed out"
        assert self._exchange is None, "one exchange at a time"
        self._exchange = exchange
        self._parser = cast("Any", httptools).HttpResponseParser(self)
        self._in_body = False
        self._head_bytes = 0
        self._transport.write(request)

    def drop(self, exchange: Exchange) -> None:
        """The answer is not wanted any more: close, so that the server notices."""
        if self._exchange is exchange:
            self._exchange = None
            self.close()

    def close(self) -> None:
        self.closed = True
        if self._transport is not None:
            self._transport.abort()

    # What the transport says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._exchange is None:
            # Nobody has asked for anything.
            self.close()
            return
        # What of it is no header takes itself out of this again.
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._break(BadAnswer(f"what came is not HTTP: {error}"))
            return
        if self._head_bytes > _MOST_HEAD_BYTES:
            self._break(BadAnswer(f"its headers have more than {_MOST_HEAD_BYTES} bytes"))

    def eof_received(self) -> None:
        if self._in_body and self._until_close:
            self.on_message_complete()
        self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.on_closed(self)
        if self._exchange is not None:
            if self._in_body and self._until_close and exc is None:
                self.on_message_complete()
                return
            where = "in the middle of the answer" if self._in_body else "before an answer came"
            self._break(ConnectionLost(f"the connection was cut {where}{f': {exc}' if exc else ''}", delivered=True))

    # What the parser says.

    def on_message_begin(self) -> None:
        self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        # A server may ask for several kinds of login, each in a line of its own.
        before = self._headers.get(name) if name == b"www-authenticate" else None
        self._headers[name] = value if before is None else before + b", " + value

    def on_headers_complete(self) -> None:
        status: int = self._parser.get_status_code()
        if status < 200:
            # 100 Continue and its like: the answer is still to come.
            return
        self._in_body = True
        self._reusable = bool(self._parser.should_keep_alive())
        bounded = b"content-length" in self._headers or b"transfer-encoding" in self._headers
        self._until_close = not bounded and status not in (204, 304)
        if self._exchange is not None:
            self._exchange.began(status, self._headers)

    def on_chunk_header(self) -> None:
        self._head_bytes = 0

    def on_body(self, data: bytes) -> None:
        self._head_bytes = 0
        if self._exchange is not None:
            self._exchange.came(data)

    def on_message_complete(self) -> None:
        if not self._in_body:
            return
        exchange, self._exchange = self._exchange, None
        self._in_body = False
        if exchange is None:
            return
        if not self._reusable or self._until_close:
            self.close()
        else:
            self.on_idle(self)
        exchange.ended()

    def _break(self, error: ClientError) -> None:
        exchange, self._exchange = self._exchange, None
        self.close()
        if exchange is not None:
            exchange.broke(error)


def _nobody(_: HttpConnection) -> None:
    """Until it belongs to a pool."""
