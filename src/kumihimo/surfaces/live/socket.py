"""A client of `/ws`: the handshake, what is written to it, and its end."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from kumihimo.domain.errors import StoreError
from kumihimo.surfaces.live import frames
from kumihimo.surfaces.live.broadcast import TOO_SLOW
from kumihimo.wire.http import Refusal

if TYPE_CHECKING:
    from kumihimo.surfaces.live.broadcast import Broadcast
    from kumihimo.wire.serving.listener import Connections

# Who has so much left to read is not keeping up: some seconds of two hundred busy agents.
MOST_UNREAD_BYTES = 8 * 1024 * 1024
# What somebody who only listens may send us.
_LONGEST_MESSAGE = 64 * 1024
_PING_SECONDS = 20.0
_PATIENCE_SECONDS = 60.0
_TRY_AGAIN_LATER = 1013
_OUR_MISTAKE = 1011
# Who may watch: asked with the path, the scheme and the headers of a request.
Admit = Callable[[str, str, list[tuple[bytes, bytes]]], Awaitable[Refusal | None]]


class LiveSocket(asyncio.Protocol):
    """What the HTTP server makes of a connection that wants to become a WebSocket."""

    def __init__(self, broadcast: Broadcast, admit: Admit, connections: Connections) -> None:
        self._broadcast = broadcast
        self._admit = admit
        self._connections = connections
        self._protocol = ServerProtocol(max_size=_LONGEST_MESSAGE)
        self._joined: asyncio.Task[None] | None = None
        self._pinging: asyncio.TimerHandle | None = None
        self._answered = True
        self._writable = asyncio.Event()
        self._writable.set()
        self.open = False

    # What the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's own signature
        self._over()
        self._connections.discard(self)
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def eof_received(self) -> None:
        self._protocol.receive_eof()

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Request):
                self._joined = asyncio.get_running_loop().create_task(self._serve(event))
            elif isinstance(event, Frame) and event.opcode is Opcode.PONG:
                self._answered = True
        if self.open:
            # Answers to pings and to a close; what the client says otherwise is nobody's business.
            self._flush()
        if self._protocol.close_expected():
            self._over()
            self._transport.close()

    def shutdown(self) -> None:
        """The server ends."""
        self.end(1001, "the server ends; come back with your cursor")

    def abort(self) -> None:
        """It has had its time."""
        self._over()
        self._transport.abort()

    # What the broadcast uses

    async def send(self, data: bytes) -> None:
        """Something of any size, to which nothing is added before it is on its way."""
        if self.open and data:
            self._transport.write(data)
            await self._drained()

    def write(self, data: bytes) -> None:
        """At once, and without waiting for anybody."""
        if not self.open or not data:
            return
        self._transport.write(data)
        if self._transport.get_write_buffer_size() > MOST_UNREAD_BYTES:
            self.end(TOO_SLOW, "too slow: come back with the cursor of the last message")

    def end(self, code: int, reason: str) -> None:
        """What was written before still arrives, then why it ends. Who does not read on is cut off."""
        if not self.open:
            return
        self._over()
        self._transport.write(frames.close(code, reason))
        self._transport.close()
        asyncio.get_running_loop().call_later(_PATIENCE_SECONDS, self._transport.abort)

    async def _drained(self) -> None:
        try:
            await asyncio.wait_for(self._writable.wait(), _PATIENCE_SECONDS)
        except TimeoutError:
            self.end(TOO_SLOW, "too slow: come back with the cursor of the last message")

    # The handshake

    async def _serve(self, request: Request) -> None:
        try:
            await self._shake_hands(request)
        except StoreError:
            self.end(_TRY_AGAIN_LATER, "the board can't be read at the moment")
        except Exception:  # noqa: BLE001 - see below
            # The outermost loop of this surface: a mistake of ours ends one client's watch, and is written down.
            sys.stderr.write(traceback.format_exc())
            self.end(_OUR_MISTAKE, "something is wrong in Kumihimo itself: its log says what")
            self._transport.close()

    async def _shake_hands(self, request: Request) -> None:
        response = self._protocol.accept(request)
        if response.status_code == 101:
            headers = [(name.lower().encode(), value.encode()) for name, value in request.headers.raw_items()]
            secure = self._transport.get_extra_info("sslcontext") is not None
            refusal = await self._admit(request.path, "wss" if secure else "ws", headers)
            if refusal is not None:
                response = self._protocol.reject(refusal.status, f"{refusal.message}\n")
        try:
            self._protocol.send_response(response)
        except InvalidState:
            # Gone while we looked at who it is.
            return
        self._flush()
        if response.status_code != 101:
            self._transport.close()
            return
        self.open = True
        self._ping()
        await self._broadcast.join(self, cursor_of(request.path))

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)

    def _ping(self) -> None:
        if not self.open:
            return
        if not self._answered:
            # Its machine is gone, or asleep: nobody would tell us.
            self._transport.abort()
            return
        self._answered = False
        self._transport.write(frames.ping())
        self._pinging = asyncio.get_running_loop().call_later(_PING_SECONDS, self._ping)

    def _over(self) -> None:
        self.open = False
        self._broadcast.leave(self)
        if self._pinging is not None:
            self._pinging.cancel()


def cursor_of(path: str) -> str | None:
    from urllib.parse import parse_qs

    found = parse_qs(path.partition("?")[2], keep_blank_values=True).get("cursor")
    return found[0] if found and found[0] else None
