"""One WebSocket as its client has it: the upgrade, then text in both directions, then the closing handshake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus, PayloadTooBig
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI

from kumihimo.wire.client.address import Address
from kumihimo.wire.client.errors import ClientError, ConnectionFailed, Refused
from kumihimo.wire.client.headers import own_headers
from kumihimo.wire.client.retry_after import seconds_until
from kumihimo.wire.client.room import Room
from kumihimo.wire.client.targets import Url

# How long a server may take to hang up once it has been said goodbye to.
_GOODBYE_SECONDS = 1.0


class WebSocketConnection(Room, asyncio.Protocol):
    """`take` gets each message, whether it is called text or not: some servers send bytes. `opened` is done with the upgrade;
    `lost` says why nothing comes any more, which `over` waits for and `on_lost` hears; `gone` is when the server has hung up
    as well."""

    def __init__(self, target: Url, address: Address, take: Callable[[bytes], None]) -> None:
        super().__init__()
        path, _, query = address.path.decode().partition("?")
        self._protocol = ClientProtocol(
            WebSocketURI(address.tls is not None, address.hostname, address.port, path, query),
            subprotocols=[Subprotocol("mcp")],
            max_size=target.most_bytes,
        )
        self._target = target
        self._take = take
        self._headers = own_headers(target)
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        # What the server has not read of that which we had to answer at once.
        self._owed = 0
        self._hanging_up: asyncio.TimerHandle | None = None
        self.lost: str | None = None
        self.on_lost: Callable[[str], None] | None = None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()
        self.gone = asyncio.Event()

    def say(self, text: bytes) -> None:
        if self.lost is None:
            self._protocol.send_text(text)
            self._flush()

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        self.opened.cancel()
        self._lose("the session was closed")
        self._abort()

    async def close(self) -> None:
        """Say goodbye and wait for the server to hang up, but not for long."""
        self._lose("the session was closed")
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(1000)
            self._flush()
        if self._transport is not None:
            self._hang_up_soon()
            await self.gone.wait()

    # What the transport says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        request = self._protocol.connect()
        for name, value in self._headers.items():
            request.headers[name] = value
        self._protocol.send_request(request)
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        self._owed += self._look()
        if self._owed > self._target.most_bytes:
            # Pings are answered whether there is room or not.
            self._lose("the server does not read what it is sent")
            self._abort()

    def eof_received(self) -> None:
        self._protocol.receive_eof()
        self._look()
        self._lose("the server hung up")

    def resume_writing(self) -> None:
        super().resume_writing()
        self._owed = 0

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._protocol.receive_eof()
        self._look()
        self._lose(f"the connection was cut{f': {exc}' if exc else ''}")
        if self._hanging_up is not None:
            self._hanging_up.cancel()
        self.gone.set()

    def _look(self) -> int:
        """See what the protocol has made of what came. How many bytes of an answer to it have to wait."""
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._hear(event)
        if not self.opened.done():
            self._judge_upgrade()
        failed = self._protocol.parser_exc
        if isinstance(failed, PayloadTooBig):
            self._lose(f"the server sent a message of more than {self._target.most_bytes} bytes")
        elif failed is not None and not isinstance(failed, EOFError):
            self._lose(f"what the server sent is no WebSocket: {failed}")
        return self._flush()

    def _judge_upgrade(self) -> None:
        failed = self._protocol.handshake_exc
        if failed is not None:
            self.opened.set_exception(_why(failed, self._target.url))
        elif self._protocol.state is not State.CONNECTING:
            self.opened.set_result(None)

    def _hear(self, frame: Frame) -> None:
        if frame.opcode is Opcode.CLOSE:
            self._lose(f"the server closed the connection{_told(self._protocol.close_rcvd)}")
        elif frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            if frame.data:
                self._parts.append(bytes(frame.data))
            if frame.fin:
                whole = b"".join(self._parts)
                self._parts.clear()
                self._take(whole)

    def _flush(self) -> int:
        if self._transport is None or self._transport.is_closing():
            return 0
        written = 0
        for data in self._protocol.data_to_send():
            written += len(data)
            if data:
                self._transport.write(data)
            else:
                self._transport.close()
        if self._protocol.close_expected():
            self._hang_up_soon()
        return written if self.crowded else 0

    def _lose(self, reason: str) -> None:
        if self.lost is None:
            self.lost = reason
            self.over.set()
            # Whoever waits for room waits for nothing.
            self.resume_writing()
            if self.on_lost is not None:
                self.on_lost(reason)

    def _hang_up_soon(self) -> None:
        if self._hanging_up is None:
            self._hanging_up = asyncio.get_running_loop().call_later(_GOODBYE_SECONDS, self._abort)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _why(failed: Exception, url: str) -> ClientError:
    """Why the upgrade was not made: what the server answered instead, or that it is no server for this."""
    if not isinstance(failed, InvalidStatus):
        return ConnectionFailed(f"{url}: no WebSocket: {failed}")
    response = failed.response
    reason = bytes(response.body or b"")[:300].decode("utf-8", "replace").strip()
    wait = seconds_until(response.headers.get("Retry-After", ""))
    return Refused(response.status_code, reason, retry_after_seconds=wait)


def _told(close: Close | None) -> str:
    return f": {close.code} {close.reason}".rstrip() if close else ""
