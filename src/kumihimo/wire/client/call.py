"""One request of ours: what is sent, and where its answer goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Raw

from kumihimo.wire.client.allowance import Allowance
from kumihimo.wire.client.errors import TimedOut
from kumihimo.wire.jsonrpc import encode_notification

OnProgress = Callable[[float, float | None, str | None], None]
# Hears that from now on it is heard what the server says unasked.
OnReady = Callable[[], None]
# Asked what a server wants to know, by its method and parameters; answers what the method's result is.
OnRequest = Callable[[str, Any], Awaitable[Mapping[str, Any]]]
_FOR_EVER = Allowance(None)


class Call(ABC):
    """`on_input` is asked what the server wants to know because of it."""

    __slots__ = (
        "allowance",
        "body",
        "headers",
        "id",
        "method",
        "on_input",
        "on_progress",
        "on_ready",
        "sent",
        "way",
    )

    def __init__(
        self, number: int, method: str, on_progress: OnProgress | None = None, on_input: OnRequest | None = None
    ) -> None:
        self.id = number
        self.method = method
        self.on_progress = on_progress
        self.on_input = on_input
        self.on_ready: OnReady | None = None
        self.allowance = _FOR_EVER
        self.body = b""
        # Header lines that repeat the body, where HTTP carries it.
        self.headers = b""
        # Whether a byte of it may have reached the server.
        self.sent = False
        # How the carrier finds what it has of it.
        self.way: object = None

    @property
    def can_be_cancelled(self) -> bool:
        """Of these two the protocol says that they are not."""
        return self.method not in ("initialize", "server/discover")

    @property
    def cancellation(self) -> bytes:
        """What tells the server that nobody waits for the answer any more."""
        return encode_notification("notifications/cancelled", {"requestId": self.id})

    @property
    @abstractmethod
    def over(self) -> bool:
        """Whether it is answered, or nobody wants to know any more."""

    @abstractmethod
    def settle(self, result: Raw) -> None:
        """The result as it came. Nothing happens where it is over, here and in `fail`."""

    @abstractmethod
    def fail(self, error: Exception) -> None:
        """An RpcError or a ClientError in its place."""

    def expire(self, seconds: float) -> None:
        self.fail(TimedOut(seconds, delivered=self.sent))
