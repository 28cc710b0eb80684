"""How a server was used: calls, failures, answers from the cache, and time."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kumihimo.hub.errors import HubError
from kumihimo.hub.results import Metadata


class Counts:
    def __init__(self) -> None:
        self.calls = 0
        self.cached = 0
        self.retries = 0
        self.milliseconds = 0.0
        self.errors: Counter[str] = Counter()

    def count(self, metadata: Metadata, error: HubError | None) -> None:
        self.calls += 1
        self.cached += metadata.cached
        self.retries += max(0, metadata.attempts - 1)
        self.milliseconds += metadata.execution_time
        if error is not None:
            self.errors[error.code] += 1

    def told(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "cached": self.cached,
            "retries": self.retries,
            "milliseconds": round(self.milliseconds, 3),
            "errors": dict(self.errors),
        }
