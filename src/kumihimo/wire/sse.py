"""Streams of server-sent events: what an HTTP answer becomes when it has more to say than its result."""

import asyncio
import contextlib
import secrets
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MOST_STREAMS: Final = 256
MOST_KEPT_BYTES: Final = 256 * 1024
"""Per stream, of events that a client may ask for again; a single larger event is kept as well."""
MOST_KEPT_BYTES_IN_ALL: Final = 64 * 1024 * 1024
RETRY_MILLISECONDS: Final = 500

_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


def encode_event(message: bytes, event_id: str | None = None) -> bytes:
    """One event. The message is JSON: a newline in it is white space between tokens."""
    if b"\n" in message or b"\r" in message:
        message = message.replace(b"\r", b" ").replace(b"\n", b" ")
    if event_id is None:
        return b"event: message\ndata: %b\n\n" % message
    return b"event: message\nid: %b\ndata: %b\n\n" % (event_id.encode(), message)


class Connection:
    """One HTTP response that carries events."""

    __slots__ = ("_ended", "_send")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._ended = False

    async def open(self) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})

    async def write(self, data: bytes) -> None:
        """Send data; nothing happens where the client is gone, which its watcher learns by itself."""
        if self._ended:
            return
        try:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})
        except OSError:
            self._ended = True

    async def end(self) -> None:
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(OSError):
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class Stream:
    """The events of one answer. They outlive the connection that carries them, if the stream can be taken up again.

    Most answers never become a stream: what only a stream needs is made when it starts.
    """

    __slots__ = (
        "_connection",
        "_events",
        "_finished",
        "_last",
        "_priming",
        "id",
        "kept",
        "on_start",
        "session",
        "silent",
        "started",
    )

    def __init__(
        self, connection: Connection, session: str = "", *, priming: bool = False, silent: bool = False
    ) -> None:
        self._connection: Connection | None = connection
        self._priming = priming
        self._last = 0
        self.kept = 0
        self.id = ""
        self.session = session
        """The session that may take the stream up again; none where it cannot be."""
        self.silent = silent
        """The client takes JSON alone: whatever comes before the result is left out."""
        self.started = False
        self.on_start: Callable[[Stream], None] | None = None

    @property
    def resumable(self) -> bool:
        return bool(self.session)

    @property
    def connection(self) -> Connection | None:
        """What carries the stream now; none while its client is away."""
        return self._connection

    async def start(self) -> None:
        """Open the response as a stream, once."""
        if self.started:
            return
        self.started = True
        self.id = secrets.token_urlsafe(9)
        self._events: deque[tuple[int, bytes]] = deque()
        self._finished = asyncio.Event()
        if self.on_start is not None:
            self.on_start(self)
        if self._connection is None:
            return
        await self._connection.open()
        if self.resumable and self._priming:
            event = b"id: %b\nretry: %d\ndata: \n\n" % (self._next_id(), RETRY_MILLISECONDS)
            await self._put(event)

    async def deliver(self, message: bytes) -> None:
        """Send a message as an event; returns when the connection has room for the next."""
        if self.silent:
            return
        await self.start()
        await self._put(encode_event(message, self._next_id().decode() if self.resumable else None))

    async def keep_alive(self) -> None:
        if self.silent:
            return
        await self.start()
        if self._connection is not None:
            await self._connection.write(b":\n\n")

    async def pause(self) -> None:
        """Close the connection and go on; the client comes back for the rest."""
        if not self.resumable or self.silent:
            return
        await self.start()
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.end()

    def detach(self, connection: Connection | None) -> None:
        """This connection is gone; another may have taken its place."""
        if self._connection is connection:
            self._connection = None

    async def finished(self) -> None:
        """Wait until the last event has been put."""
        await self._finished.wait()

    async def finish(self) -> None:
        self._finished.set()
        if self._connection is not None:
            await self._connection.end()

    async def resume(self, connection: Connection, last_seen: int) -> None:
        """Send what came after the event `last_seen`, and let the connection carry what is still to come."""
        previous, self._connection = self._connection, None
        if previous is not None:
            await previous.end()
        while True:
            missed = [event for number, event in self._events if number > last_seen]
            if not missed:
                break
            last_seen = self._events[-1][0]
            await connection.write(b"".join(missed))
        self._connection = connection

    def _next_id(self) -> bytes:
        self._last += 1
        return b"%b_%d" % (self.id.encode(), self._last)

    async def _put(self, event: bytes) -> None:
        if self.resumable:
            self._events.append((self._last, event))
            self.kept += len(event)
            while self.kept > MOST_KEPT_BYTES and len(self._events) > 1:
                self.kept -= len(self._events.popleft()[1])
        if self._connection is not None:
            await self._connection.write(event)


class Streams:
    """The streams that can be taken up again; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._streams: OrderedDict[str, Stream] = OrderedDict()

    def keep(self, stream: Stream) -> None:
        self._streams[stream.id] = stream
        kept = sum(other.kept for other in self._streams.values())
        while len(self._streams) > MOST_STREAMS or (kept > MOST_KEPT_BYTES_IN_ALL and len(self._streams) > 1):
            kept -= self._streams.popitem(last=False)[1].kept

    def forget(self, stream: Stream) -> None:
        self._streams.pop(stream.id, None)

    def find(self, event_id: str, session: str) -> tuple[Stream, int] | None:
        """The stream of an event of this session, and the event's number in it."""
        stream_id, _, number = event_id.rpartition("_")
        stream = self._streams.get(stream_id)
        if stream is None or stream.session != session or not (number.isdigit() and len(number) < 18):
            return None
        return stream, int(number)
