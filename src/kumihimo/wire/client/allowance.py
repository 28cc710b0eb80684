"""How long a call may take in all, however often it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from kumihimo.wire.deadlines import Deadlines

_LONG_SECONDS = 2.0


class Allowance:
    """It is used up while a call is under way, and stands still while somebody is asked what the server wants to know.

    `seconds` is what there was in the beginning; 0 or None is for ever.
    """

    __slots__ = ("_deadlines", "_due", "_held", "_left", "_loop", "_over", "_since", "_timer", "seconds")

    def __init__(self, seconds: float | None, deadlines: Deadlines | None = None) -> None:
        self.seconds = seconds or 0.0
        # Who needs to be told on the dot has a timer of its own.
        self._deadlines = deadlines if self.seconds >= _LONG_SECONDS else None
        self._due: tuple[int, Callable[[], None]] | None = None
        self._left = self.seconds
        self._held = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._over: Callable[[float], None] | None = None

    @property
    def used_up(self) -> bool:
        return self.seconds > 0 >= self._left

    def begin(self, over: Callable[[float], None]) -> None:
        """From now on it is used up; `over` hears when it is, and how much it was."""
        self._over = over
        if not self.seconds or self._held:
            return
        # To look for the running loop is a system call each time: who has deadlines knows it.
        self._loop = loop = asyncio.get_running_loop() if self._deadlines is None else self._deadlines.loop
        self._since = loop.time()
        if self._deadlines is None:
            self._timer = loop.call_at(self._since + self._left, over, self.seconds)
        else:
            expire = partial(over, self.seconds)
            self._due = (self._deadlines.add(self._left, expire), expire)

    def end(self) -> None:
        self._over = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif self._due is not None and self._deadlines is not None:
            self._deadlines.remove(*self._due)
            self._due = None
        else:
            return
        if self._loop is not None:
            self._left -= self._loop.time() - self._since

    def hold(self) -> None:
        """Somebody is being asked. Of many who are, the last ends it with `release`."""
        self._held += 1
        over = self._over
        self.end()
        self._over = over

    def release(self) -> None:
        self._held -= 1
        if self._over is not None:
            self.begin(self._over)
