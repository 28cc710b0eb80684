"""What a way of carrying messages has to do for a session."""

from __future__ import annotations

from typing import Protocol

from kumihimo.wire.client.call import Call, OnReady
from kumihimo.wire.revision import Revision


class Carrier(Protocol):
    # Whether headers repeat what a stateless request says.
    mirrors: bool
    # Whether a session is this one connection: there is no other that could be lost or renewed.
    piped: bool

    @property
    def ready(self) -> bool:
        """Whether a call that is posted now leaves at once. Never so where each has a connection of its own."""
        ...

    async def send(self, call: Call) -> None:
        """Send the call. Its answer comes by itself. ClientError, with nothing sent, where that is not possible."""
        ...

    def post(self, message: bytes) -> None:
        """Send something that gets no answer, as soon as possible; what is lost on the way is lost."""
        ...

    async def tell(self, message: bytes) -> None:
        """The same, until it has been taken."""
        ...

    def abandon(self, call: Call) -> None:
        """Nobody waits for the answer any more: let the server know."""
        ...

    def agree(self, revision: Revision | None) -> None:
        """What is spoken: headers say so from now on. None before that is known."""
        ...

    async def renew(self) -> None:
        """Forget the session of the server, before another handshake."""
        ...

    async def listen(self, on_ready: OnReady) -> None:
        """Hear what the server says unasked, where that needs a stream of its own; until that ends."""
        ...

    async def close(self) -> None:
        """Let go of everything. Calls under way fail."""
        ...
