"""The stream of the old HTTP carrier: the endpoint first, then the messages of the server."""

from __future__ import annotations

import asyncio

from kumihimo.wire.client.errors import ConnectionFailed, ConnectionLost
from kumihimo.wire.client.http_answer import HttpAnswer, Post


class SseStream(HttpAnswer):
    def __init__(self, carrier: Post) -> None:
        super().__init__(carrier, None)
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def begun(self) -> str:
        """The endpoint, as the server names it. ConnectionFailed or Refused where it names none."""
        await asyncio.wait((self._endpoint, self.over), return_when=asyncio.FIRST_COMPLETED)
        error = self.over.exception() if self.over.done() else None
        if self._endpoint.done():
            return self._endpoint.result()
        if isinstance(error, ConnectionLost):
            # Nothing but the wish to listen has been sent.
            raise ConnectionFailed(error.reason)
        if error is not None:
            raise error
        raise ConnectionFailed("the server answered no stream of events that names an endpoint")

    def _hear(self, data: bytes) -> None:
        kind = self._events.kind if self._events else b""
        if kind in (b"", b"message"):
            super()._hear(data)
        elif kind == b"endpoint" and not self._endpoint.done():
            self._endpoint.set_result(data.decode("utf-8", "replace").strip())
