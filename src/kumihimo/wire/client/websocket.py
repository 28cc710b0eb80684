"""A server behind a WebSocket: one text for each message, many calls under way at once."""

from __future__ import annotations

import asyncio

from kumihimo.wire.client.address import Address
from kumihimo.wire.client.call import Call, OnReady
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errors import ConnectionFailed, ConnectionLost
from kumihimo.wire.client.targets import Url
from kumihimo.wire.client.websocket_connection import WebSocketConnection
from kumihimo.wire.revision import Revision


class WebSocketCarrier:
    mirrors = False
    piped = True

    def __init__(self, target: Url, dialogue: Dialogue) -> None:
        self._target = target
        self._dialogue = dialogue
        if target.authorization is not None:
            raise ConnectionFailed(f"{target.url}: a WebSocket has no login; its token is a header or the bearer")
        self._address = Address(target, "ws", "wss")
        self._connection = WebSocketConnection(target, self._address, self._hear)
        self._connection.on_lost = self._lost

    async def open(self) -> None:
        """ConnectionFailed, or Refused where the server answers with a status; nothing was sent then."""
        connection = self._connection
        try:
            async with asyncio.timeout(self._target.connect_seconds):
                await self._address.connect(lambda: connection)
                await connection.opened
        except TimeoutError:
            connection.give_up()
            raise ConnectionFailed(
                f"{self._target.url}: no WebSocket within {self._target.connect_seconds:g} s"
            ) from None
        except BaseException:
            connection.give_up()
            raise

    @property
    def ready(self) -> bool:
        return self._connection.lost is None and not self._connection.crowded

    async def send(self, call: Call) -> None:
        if self._connection.crowded:
            await self._connection.room()
        if self._connection.lost is not None:
            raise ConnectionFailed(self._connection.lost)
        if call.over:
            return
        call.sent = True
        self._connection.say(call.body)

    def post(self, message: bytes) -> None:
        self._connection.say(message)

    async def tell(self, message: bytes) -> None:
        self.post(message)
        await self._connection.room()

    def abandon(self, call: Call) -> None:
        if call.sent and call.can_be_cancelled:
            self.post(call.cancellation)

    def agree(self, revision: Revision | None) -> None:
        """Headers are sent once, before anything is agreed upon."""

    async def renew(self) -> None:
        """There is no session besides the connection itself."""

    async def listen(self, on_ready: OnReady) -> None:
        """Everything comes by the one connection: this ends with it."""
        on_ready()
        await self._connection.over.wait()

    async def close(self) -> None:
        await self._connection.close()

    def _hear(self, text: bytes) -> None:
        self._dialogue.hear(text, self.post)

    def _lost(self, reason: str) -> None:
        self._dialogue.fail_all(lambda call: ConnectionLost(reason, delivered=call.sent))
