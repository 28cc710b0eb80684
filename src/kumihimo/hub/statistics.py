"""How a server was used: calls, failures, answers from the cache, and time."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Any

from kumihimo.hub.errors import HubError
from kumihimo.hub.results import Metadata

# Milliseconds: how many calls took no longer than each of these is counted.
BUCKETS = (1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0, 10000.0)


class Counts:
    def __init__(self) -> None:
        self.calls = 0
        self.cached = 0
        self.retries = 0
        self.milliseconds = 0.0
        self.durations = [0] * (len(BUCKETS) + 1)
        self.errors: Counter[str] = Counter()

    def add(self, other: Counts) -> None:
        """What another has counted, as well."""
        self.calls += other.calls
        self.cached += other.cached
        self.retries += other.retries
        self.milliseconds += other.milliseconds
        self.durations = [mine + theirs for mine, theirs in zip(self.durations, other.durations, strict=True)]
        self.errors += other.errors

    def count(self, metadata: Metadata, error: HubError | None) -> None:
        self.note(metadata.execution_time, metadata.attempts, metadata.cached, error.code if error else None)

    def note(self, milliseconds: float, attempts: int, cached: bool, error: str | None) -> None:
        self.calls += 1
        self.cached += cached
        self.retries += max(0, attempts - 1)
        self.milliseconds += milliseconds
        self.durations[bisect_left(BUCKETS, milliseconds)] += 1
        if error is not None:
            self.errors[error] += 1

    def told(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "cached": self.cached,
            "retries": self.retries,
            "milliseconds": round(self.milliseconds, 3),
            "errors": dict(self.errors),
        }
