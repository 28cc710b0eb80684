"""One request of ours: what is sent, and the answer that is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Raw

from kumihimo.wire.client.errors import TimedOut

OnProgress = Callable[[float, float | None, str | None], None]


class Call:
    """`answer` becomes the result as it came, or an RpcError or ClientError."""

    __slots__ = ("answer", "body", "headers", "id", "method", "on_progress", "sent", "way")

    def __init__(self, number: int, method: str, on_progress: OnProgress | None = None) -> None:
        self.id = number
        self.method = method
        self.on_progress = on_progress
        self.body = b""
        # Header lines that repeat the body, where HTTP carries it.
        self.headers = b""
        # Whether a byte of it may have reached the server.
        self.sent = False
        # How the carrier finds what it has of it.
        self.way: object = None
        self.answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()

    def settle(self, result: Raw) -> None:
        if not self.answer.done():
            self.answer.set_result(result)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)

    def expire(self, seconds: float) -> None:
        self.fail(TimedOut(seconds, delivered=self.sent))
