"""A server of the first HTTP carrier that does as the test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from client_kit import Peer, chunk, greeting, http

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
TAKEN = http(b"Accepted", status="202 Accepted", kind="text/plain")


def event(data: bytes, kind: str = "message") -> bytes:
    return chunk(f"event: {kind}\n".encode() + b"data: " + data + b"\n\n")


class SsePeer(Peer):
    """`endpoint` is what the first event says, None where there is none. `stream` is the writer of the latest stream."""

    def __init__(
        self,
        then: Callable[[SsePeer, dict[str, Any], asyncio.StreamWriter], Awaitable[None]] | None = None,
        *,
        endpoint: str | None = "/messages?session=1",
    ) -> None:
        super().__init__(self._respond)
        self.endpoint = endpoint
        self.stream: asyncio.StreamWriter | None = None
        self._then = then

    @property
    def posted(self) -> list[str]:
        """The heads of what was posted to the endpoint."""
        return [head for head in self.heads if head.startswith("POST /messages")]

    @property
    def streams(self) -> int:
        return sum(head.startswith("GET") for head in self.heads)

    async def tell(self, data: bytes, kind: str = "message") -> None:
        assert self.stream is not None
        self.stream.write(event(data, kind))
        await self.stream.drain()

    async def _respond(self, peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        head = self.heads[-1]
        if head.startswith("GET"):
            self.stream = writer
            writer.write(STREAM + (event(self.endpoint.encode(), "endpoint") if self.endpoint else b""))
        elif not head.startswith("POST /messages"):
            writer.write(http(b"Cannot POST", status="404 Not Found", kind="text/html"))
        elif request["method"] == "initialize":
            writer.write(TAKEN)
            await self.tell(greeting(request, version="2024-11-05"))
        elif request["method"].startswith("notifications/") or self._then is None:
            writer.write(TAKEN)
        else:
            await self._then(self, request, writer)
