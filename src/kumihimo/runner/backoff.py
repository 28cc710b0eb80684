"""How long to wait before something is tried again: longer each time, up to a limit."""

from __future__ import annotations


class Backoff:
    def __init__(self, first_seconds: float, most_seconds: float) -> None:
        self._first = first_seconds
        self._most = most_seconds
        self.failures = 0

    def next(self) -> float:
        """It has failed once more: wait so long."""
        self.failures += 1
        return after(self.failures, self._first, self._most)

    def reset(self) -> None:
        self.failures = 0


def after(failures: int, first_seconds: float, most_seconds: float) -> float:
    # Above this every limit is reached, and below it no number is too large.
    return min(first_seconds * 2 ** min(failures - 1, 60), most_seconds)
