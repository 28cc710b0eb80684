"""When calls have to be over: many of them by one timer. A timer for each would cost more than many a call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

# How late a call may be given up, in seconds.
GRAIN = 0.05

Expire = Callable[[], None]


class Deadlines:
    """What is due at about the same time is kept together; the timer is set to the first of these times."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._due: dict[int, set[Expire]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._set_to = 0

    def add(self, seconds: float, expire: Expire) -> int:
        """Call it after so many seconds, or a little later. What is answered is for `remove`."""
        tick = int((self.loop.time() + seconds) / GRAIN) + 1
        together = self._due.get(tick)
        if together is None:
            together = self._due[tick] = set()
        together.add(expire)
        if self._timer is None or tick < self._set_to:
            self._set(tick)
        return tick

    def remove(self, tick: int, expire: Expire) -> None:
        together = self._due.get(tick)
        if together is not None:
            together.discard(expire)
            if not together:
                del self._due[tick]

    def close(self) -> None:
        self._due.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, tick: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._set_to = tick
        self._timer = self.loop.call_at(tick * GRAIN, self._ring)

    def _ring(self) -> None:
        """What was due may be over long since: then the timer is set to what is left."""
        self._timer = None
        for expire in self._due.pop(self._set_to, ()):
            expire()
        if self._due and self._timer is None:
            self._set(min(self._due))
