"""The passing of time, for leases."""

from __future__ import annotations

import time


def passed() -> float:
    """Seconds on a clock that never jumps and does not stop while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
