"""From a server behind the hub to the client that called: how far it is, and what it needs to know."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kumihimo.hub.call import NOBODY, Asking

if TYPE_CHECKING:
    from kumihimo.wire.request import Request
    from kumihimo.wire.tool import Done


class Line:
    """The way back to the client for the time of one call. Everything that was told has left when it is closed."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.telling: set[asyncio.Task[None]] | None = None
        self._closing: asyncio.Task[None] | None = None
        can = request.can_be_asked
        self.asking = NOBODY
        if can or request.wants_progress:
            self.asking = Asking(
                on_progress=self._tell if request.wants_progress else None,
                on_input=request.hand_on if can else None,
                offers=can,
                comes_again=not request.revision.handshake,
            )

    def _tell(self, progress: float, total: float | None, message: str | None) -> None:
        if self.telling is None:
            self.telling = set()
        task = asyncio.get_running_loop().create_task(self._request.progress(progress, total, message))
        self.telling.add(task)
        task.add_done_callback(self.telling.discard)

    def conclude(self, done: Done, returned: Any) -> None:
        """Let the answer go, behind all that was told."""
        if self.telling:
            self._closing = asyncio.get_running_loop().create_task(self._conclude(done, returned))
        else:
            done(returned)

    async def _conclude(self, done: Done, returned: Any) -> None:
        await self.close()
        done(returned)

    async def close(self) -> None:
        """Before the answer: what is told of a call after it belongs to nothing."""
        if self.telling:
            await asyncio.gather(*self.telling, return_exceptions=True)
