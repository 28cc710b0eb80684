"""One request and its answer, as an ASGI application sees them."""

from __future__ import annotations

import asyncio
import http
import logging
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from kumihimo.wire.serving.connection import Connection
    from kumihimo.wire.serving.head import Head

_log = logging.getLogger("kumihimo.http")

STATUS_LINES: Final = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode()) for status in http.HTTPStatus
}
_DISCONNECT: Final = {"type": "http.disconnect"}
_WITHOUT_BODY: Final = (204, 304)
# Unread bytes of a body above which nothing more is read from the socket.
MOST_UNREAD_BYTES: Final = 64 * 1024


_JSON: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
_LAST_JSON: Final = _JSON.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")


class Holder(Protocol):
    """Who answers an exchange that has no task."""

    def client_left(self) -> None:
        """Nobody waits for the answer any more."""
        ...


class Exchange:
    """`receive` and `send` are ASGI's. `disconnected` is told by the connection."""

    __slots__ = (
        "_answer_head",
        "_body",
        "_chunked",
        "_complete",
        "_connection",
        "_delivered",
        "_expects_continue",
        "_holder",
        "_left",
        "_unread",
        "_waiter",
        "disconnected",
        "head",
        "keep_alive",
        "over",
        "started",
        "task",
    )

    def __init__(self, connection: Connection, head: Head) -> None:
        self.head = head
        self.keep_alive = head.keep_alive
        self.disconnected = False
        self.started = False
        self.over = False
        self.task: asyncio.Task[None] | None = None
        self._connection = connection
        self._body: list[bytes] = []
        self._unread = 0
        self._complete = False
        self._delivered = False
        self._expects_continue = head.expects
        self._waiter: asyncio.Future[None] | None = None
        self._holder: Holder | None = None
        # The head of the answer, kept back until there is a body to go with it.
        self._answer_head = b""
        self._chunked = False
        # How many bytes of the answer are still to come; None where nobody has said.
        self._left: int | None = None

    @property
    def reading(self) -> bool:
        """Whether some of the request is still to come."""
        return not self._complete

    @property
    def comes_soon(self) -> bool:
        """Whether the body is one that is sent with the head, or right behind it: small, and nothing is waited for."""
        return self.head.plain and int(self.head.told_length) <= MOST_UNREAD_BYTES

    @property
    def whole(self) -> bytes | None:
        """All of the body, where it has come and the client waits for nothing but the answer."""
        if not self._complete or self._expects_continue:
            return None
        body = self._body
        return body[0] if len(body) == 1 else b"".join(body)

    def take(self, holder: Holder) -> None:
        """Somebody answers it without a task: by `answer_json`, or later by `go_on`."""
        self._holder = holder

    def answer_json(self, body: bytes) -> None:
        """All of the answer at once, from who holds it."""
        self._holder = None
        if not self.disconnected:
            self.started = self.over = True
            self._body.clear()
            self._connection.write_last((_JSON if self.keep_alive else _LAST_JSON) % (len(body), body))
        self._connection.finished(self)

    def go_on(self, application: Any) -> None:
        """What was held is answered in a task after all."""
        self._holder = None
        self.task = asyncio.get_running_loop().create_task(self.run(application))

    # What the connection tells

    def feed(self, data: bytes) -> None:
        if self.over:
            # Answered already: the rest is only taken off the line.
            return
        self._body.append(data)
        self._unread += len(data)
        if self._unread > MOST_UNREAD_BYTES:
            self._connection.pause_reading()
        self._wake()

    def feed_all(self, body: bytes) -> None:
        """All of the request has come."""
        self._body.append(body)
        self._unread = len(body)
        self._complete = True

    def complete(self) -> None:
        self._complete = True
        self._wake()

    def disconnect(self) -> None:
        self.disconnected = True
        self._wake()
        if self._holder is not None:
            holder, self._holder = self._holder, None
            holder.client_left()
            self._connection.finished(self)

    async def run(self, application: Any) -> None:
        try:
            await application(self.head.scope(), self.receive, self.send)
        except asyncio.CancelledError:
            self._connection.abort()
            raise
        except Exception:  # noqa: BLE001 - see below
            # The outermost loop of a surface: a mistake of ours is one bad answer, and is written down.
            _log.exception("%s %s was not answered", self.head.method, self.head.path)
            await self._apologize()
        else:
            if not self.over and not self.disconnected:
                _log.error("%s %s was left without its answer", self.head.method, self.head.path)
                await self._apologize()
        finally:
            self._connection.finished(self)

    async def _apologize(self) -> None:
        if self.started or self.disconnected:
            # Half an answer is worse than none: who reads it is to notice.
            self._connection.abort()
            return
        self.keep_alive = False
        body = b"Internal Server Error"
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
        await self.send({"type": "http.response.start", "status": 500, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    # ASGI

    async def receive(self) -> dict[str, Any]:
        if self._expects_continue:
            self._expects_continue = False
            self._connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not (self.disconnected or self.over):
            if self._body or (self._complete and not self._delivered):
                return self._next_piece()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return _DISCONNECT

    def _next_piece(self) -> dict[str, Any]:
        pieces, self._body = self._body, []
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self._unread > MOST_UNREAD_BYTES:
            self._connection.resume_reading()
        self._unread = 0
        self._delivered = self._complete
        return {"type": "http.request", "body": body, "more_body": not self._complete}

    async def send(self, message: Any) -> None:
        if self.disconnected:
            return
        if not self.started:
            self._start(message["status"], message.get("headers", ()))
            return
        if self.over:
            raise RuntimeError("the answer was complete already")
        body: bytes = message.get("body", b"")
        if message.get("more_body", False):
            if framed := self._framed(body):
                self._connection.write(framed)
            if self._connection.write_paused:
                await self._connection.drained()
        else:
            self._end(body)

    def _start(self, status: int, headers: Any) -> None:
        self.started = True
        parts = [STATUS_LINES[status]]
        for name, value in headers:
            if name == b"content-length":
                self._left = int(value)
            elif b"\n" in value or b"\r" in value:
                raise ValueError(f"a header {name!r} of more than one line")
            parts += (name, b": ", value, b"\r\n")
        if not self.keep_alive:
            parts.append(b"connection: close\r\n")
        if self.head.method == "HEAD" or status in _WITHOUT_BODY:
            self._left = 0
        elif self._left is None:
            self._chunked = True
            parts.append(b"transfer-encoding: chunked\r\n")
        parts.append(b"\r\n")
        self._answer_head = b"".join(parts)
        if self._chunked:
            # A stream: its reader is to know at once that it has begun.
            self._connection.write(self._take_head())

    def _take_head(self) -> bytes:
        head, self._answer_head = self._answer_head, b""
        return head

    def _framed(self, body: bytes) -> bytes:
        if self._chunked:
            return b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        if self.head.method == "HEAD":
            body = b""
        assert self._left is not None, "set by the head"
        self._left -= len(body)
        if self._left < 0:
            raise RuntimeError("more was answered than was announced")
        return self._take_head() + body

    def _end(self, body: bytes) -> None:
        last = self._framed(body)
        if self._chunked:
            last += b"0\r\n\r\n"
        elif self._left:
            raise RuntimeError("less was answered than was announced")
        self.over = True
        self._body.clear()
        self._connection.write_last(last)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
