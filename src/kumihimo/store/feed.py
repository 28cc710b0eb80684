"""A reader that follows the log: every event once, in order, woken by the bell."""

from __future__ import annotations

import time

from kumihimo.domain.event import Event
from kumihimo.store.bell import Bell
from kumihimo.store.store import Store

# Also without a bell we look now and then: a bell can be lost, an event can't.
_LOOK_AGAIN_SECONDS = 1.0


class Feed:
    def __init__(self, store: Store, bell: Bell, cursor: str | None) -> None:
        self._store = store
        self._bell = bell
        self.cursor = cursor

    def next(self, seconds: float, limit: int = 500) -> list[Event]:
        """The next events; empty after so many seconds without any."""
        deadline = time.monotonic() + seconds
        while True:
            events = self._store.events_after(self.cursor, limit)
            if events:
                self.cursor = events[-1].cursor
                return events
            left = deadline - time.monotonic()
            if left <= 0:
                return []
            self._bell.wait(min(left, _LOOK_AGAIN_SECONDS))
