"""A connection: what comes in is taken apart into requests, which are answered one after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import unquote

import httptools

from kumihimo.wire.serving.exchange import STATUS_LINES, Exchange
from kumihimo.wire.serving.head import Head

if TYPE_CHECKING:
    from kumihimo.wire.serving.listener import Listener

MOST_HEAD_BYTES: Final = 64 * 1024
# Requests that one client may send before it has read the answer to the first.
_MOST_WAITING: Final = 16
# What is kept back until the end of a turn.
_MOST_HELD_BYTES: Final = 64 * 1024


class Connection(asyncio.Protocol):
    """The callbacks `on_…` are the parser's."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._parser = httptools.HttpRequestParser(self)
        self._current: Exchange | None = None
        self._waiting: deque[Exchange] = deque()
        # The request that is being read, which may not be the one that is being answered.
        self._incoming: Exchange | None = None
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._expects = False
        self._in_head = False
        self._head_bytes = 0
        # How many requests the parser has met.
        self._begun = 0
        self._reading_paused = False
        # What is answered to what came last, and then no more is read.
        self._refusal: int | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._room: asyncio.Future[None] | None = None
        self.write_paused = False
        self.heard_at = listener.loop.time()

    # What the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._scheme = "https" if transport.get_extra_info("sslcontext") else "http"
        self._listener.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's own signature
        left = (self._current, self._incoming, *self._waiting)
        # None of them is begun because one before it ends.
        self._waiting.clear()
        for exchange in left:
            if exchange is not None:
                exchange.disconnect()
        self.resume_writing()
        self._listener.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        listener = self._listener
        self.heard_at = listener.loop.time()
        was_in_head = self._in_head
        # Between two requests, where the next one may have a head that is known.
        between = self._incoming is None and not was_in_head and self._refusal is None
        if between and (known := listener.heads.split(data)) is not None:
            exchange = Exchange(self, known[0])
            exchange.feed_all(known[1])
            self._waiting.append(exchange)
            self._begin_next()
            return
        begun = self._begun
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgrade(data[upgrade.args[0] :])
            return
        except httptools.HttpParserError:
            self._refuse(400)
            return
        if was_in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._refuse(431)
                return
        elif between and self._begun == begun + 1 and self._incoming is None and not self._in_head:
            listener.heads.keep(data, self._waiting[-1].head)
        self._begin_next()

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    # What the parser tells

    def on_message_begin(self) -> None:
        self._begun += 1
        self._url = b""
        self._headers = []
        self._expects = False
        self._in_head = True
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self._expects = True
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        parser = self._parser
        path, _, query = self._url.partition(b"?")
        if not path.startswith(b"/"):
            # A proxy's form, with a host in it, or `*`.
            path = httptools.parse_url(self._url).path or b"/" if b"://" in path else path
        text = path.decode("latin-1")
        version = parser.get_http_version()
        head = Head(
            method=parser.get_method().decode("ascii"),
            path=unquote(text) if "%" in text else text,
            raw_path=path,
            query=query,
            headers=self._headers,
            scheme=self._scheme,
            version=version,
            keep_alive=version == "1.1" and parser.should_keep_alive(),
            expects=self._expects,
        )
        exchange = self._incoming = Exchange(self, head)
        self._waiting.append(exchange)

    def on_body(self, body: bytes) -> None:
        if self._incoming is not None:
            self._incoming.feed(body)

    def on_message_complete(self) -> None:
        if self._incoming is not None:
            self._incoming.complete()
            self._incoming = None

    # What exchanges use

    def write(self, data: bytes) -> None:
        """Something to which more is added: it leaves at the end of this turn of the loop, with what comes till then."""
        if not self._parts:
            self._listener.flush_soon(self)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _MOST_HELD_BYTES:
            self.flush()

    def write_last(self, data: bytes) -> None:
        """The end of an answer, or all of it. Where much goes on it waits for the end of the turn as well: answers that leave
        together bring requests that come together."""
        if self._listener.busy:
            self.write(data)
        elif self._parts:
            self._parts.append(data)
            self.flush()
        elif not self._transport.is_closing():
            self._transport.write(data)

    def flush(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():
            self._transport.write(parts[0] if len(parts) == 1 else b"".join(parts))

    async def drained(self) -> None:
        self.flush()
        if self.write_paused:
            self._room = self._listener.loop.create_future()
            await self._room

    def pause_reading(self) -> None:
        if not self._reading_paused and not self._transport.is_closing():
            self._reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._reading_paused and not self._transport.is_closing():
            self._reading_paused = False
            self._transport.resume_reading()

    def finished(self, exchange: Exchange) -> None:
        """An exchange is over, and its task ends."""
        self._listener.running.discard(exchange)
        self._current = None
        if not exchange.keep_alive:
            self._close()
            return
        self.heard_at = self._listener.loop.time()
        if self._refusal is None:
            self.resume_reading()
        self._begin_next()

    def abort(self) -> None:
        self._transport.abort()

    # What the listener uses

    def shutdown(self) -> None:
        """The server ends: what is under way is answered, and nothing more."""
        self._waiting.clear()
        if self._current is None:
            self._close()
        else:
            self._current.keep_alive = False

    def close_if_silent(self, before: float) -> None:
        """Nobody has said anything since then, although it is the client's turn."""
        if self.heard_at < before and (self._current is None or self._current.reading):
            self._close()

    # Inside

    def _begin_next(self) -> None:
        if self._current is not None:
            if len(self._waiting) >= _MOST_WAITING:
                self.pause_reading()
        elif self._waiting:
            if self._waiting[0] is self._incoming and self._waiting[0].comes_soon:
                # Many clients send the head and the body one by one. What is whole may be answered on a short way.
                return
            exchange = self._current = self._waiting.popleft()
            listener = self._listener
            listener.running.add(exchange)
            if not listener.begins(exchange):
                exchange.go_on(listener.application)
        elif self._refusal is not None:
            self._say_no(self._refusal)

    def _upgrade(self, rest: bytes) -> None:
        """The parser has met a wish for another protocol, and reads no further. A wish that is not ours to grant is
        passed over, as it may be: the request is answered, and is the last."""
        if not self._waiting:
            # More of what comes behind such a wish.
            return
        asked = self._waiting[-1]
        made = self._listener.upgraded() if self._wants_socket() else None
        if made is None or self._current is not None:
            asked.keep_alive = False
            self._begin_next()
            return
        self._waiting.clear()
        self._listener.connections.discard(self)
        head = [b"%b %b HTTP/1.1\r\n" % (asked.head.method.encode(), self._url)]
        head += [b"%b: %b\r\n" % header for header in self._headers]
        made.connection_made(self._transport)
        self._transport.set_protocol(made)
        made.data_received(b"".join((*head, b"\r\n", rest)))

    def _wants_socket(self) -> bool:
        return any(name == b"upgrade" and value.lower() == b"websocket" for name, value in self._headers)

    def _refuse(self, status: int) -> None:
        """What came is no request, or not the rest of one. Those before it are answered first."""
        broken, self._incoming = self._incoming, None
        self.pause_reading()
        if broken is not None and broken is self._current:
            if broken.started:
                self.abort()
            else:
                self._say_no(status)
            return
        if broken is not None:
            self._waiting.remove(broken)
        self._refusal = status
        self._begin_next()

    def _say_no(self, status: int) -> None:
        self.write(STATUS_LINES[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self._close()

    def _close(self) -> None:
        self.flush()
        self._transport.close()
