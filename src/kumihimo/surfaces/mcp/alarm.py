"""One bell for everybody who waits in this process: a hundred waiting clients cost one thread, and none while nobody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kumihimo.store.bell import Bell

# Also without a bell everybody looks now and then: a bell can be lost, an event can't.
LOOK_AGAIN_SECONDS = 1.0


class Alarm:
    """Inside one event loop. `open_bell` is asked when the first one begins to wait."""

    def __init__(self, open_bell: Callable[[], Awaitable[Bell]]) -> None:
        self._open_bell = open_bell
        self._waiting: set[asyncio.Future[None]] = set()
        self._ringing: asyncio.Task[None] | None = None

    def next(self) -> asyncio.Future[None]:
        """Done at the next ring. Taken before one looks, so that nothing rung after the look is missed."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        if self._ringing is None or self._ringing.done():
            self._ringing = asyncio.get_running_loop().create_task(self._ring())
        return future

    async def wait(self, future: asyncio.Future[None], seconds: float) -> None:
        """Until it rings, at most so long, and not longer than one should go without a look."""
        await asyncio.wait((future,), timeout=min(seconds, LOOK_AGAIN_SECONDS))
        future.cancel()

    async def _ring(self) -> None:
        bell = await self._open_bell()
        try:
            self._wake()
            while self._waiting:
                if await self._rung(bell):
                    self._wake()
        finally:
            bell.close()

    async def _rung(self, bell: Bell) -> bool:
        """Whether it rang within the time that one may go without a look."""
        descriptor = bell.descriptor
        if descriptor is None:
            return await asyncio.to_thread(bell.wait, LOOK_AGAIN_SECONDS)
        # Heard by the loop itself: a thread would have to be woken first, and then wake the loop.
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(descriptor, heard.set)
        try:
            await asyncio.wait_for(heard.wait(), LOOK_AGAIN_SECONDS)
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(descriptor)
        return bell.wait(0.0)

    def _wake(self) -> None:
        """Also once the bell is there: what was rung while it was being opened was heard by nobody."""
        for future in tuple(self._waiting):
            if not future.done():
                future.set_result(None)
