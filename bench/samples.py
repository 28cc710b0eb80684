"""Samples of one thing, told apart by whether the machine was ours while they were taken."""

from __future__ import annotations

import statistics
from pathlib import Path

from tables import percentile


class Samples:
    """In milliseconds; and apart from all of them those during which our processors were ours. On a machine that is shared with
    others by a hypervisor, what takes longest is mostly what those have had meanwhile."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.undisturbed: list[float] = []

    def add(self, values: list[float], mark: int, taken: int | None = None) -> None:
        """`mark` and `taken`: what was stolen when they began, and when they were over; now where that is not said."""
        self.values += values
        if (stolen() if taken is None else taken) == mark:
            self.undisturbed += values

    def __str__(self) -> str:
        found = _spread(self.values)
        if not self.undisturbed or len(self.undisturbed) == len(self.values):
            return found
        share = len(self.undisturbed) / len(self.values)
        return f"{found} (the {share:.0%} that nobody disturbed: {_spread(self.undisturbed)})"


def ratio(ours: Samples, theirs: Samples) -> str:
    """Of the medians: of all, and of what nobody disturbed."""
    whole = statistics.median(ours.values) / statistics.median(theirs.values)
    if not ours.undisturbed or not theirs.undisturbed:
        return f"{whole:.1f} x"
    alone = statistics.median(ours.undisturbed) / statistics.median(theirs.undisturbed)
    return f"{whole:.1f} x ({alone:.1f} x where nobody disturbed)"


def stolen() -> int:
    """How many ticks of our processors the hypervisor has given to others."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])


def _spread(values: list[float]) -> str:
    return f"p50 {statistics.median(values):.1f} ms, p99 {percentile(values, 0.99):.1f} ms"
