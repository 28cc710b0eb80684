"""A limit on wrong guesses."""

from __future__ import annotations

import time
from collections import deque

MOST_FAILURES = 10
WITHIN_SECONDS = 60.0


class Throttle:
    """For everybody together: who guesses from many places guesses no more often."""

    def __init__(self) -> None:
        self._failures: deque[float] = deque(maxlen=MOST_FAILURES)

    @property
    def wait_seconds(self) -> int:
        """How long nobody is let in; 0 where somebody may try."""
        if len(self._failures) < MOST_FAILURES:
            return 0
        left = self._failures[0] + WITHIN_SECONDS - time.monotonic()
        return max(0, int(left) + 1) if left > 0 else 0

    def failed(self) -> None:
        self._failures.append(time.monotonic())
