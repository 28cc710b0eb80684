"""Waiting for what another process does by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# Generous: a bound keeps a broken test from hanging and says nothing about speed.
BOUND_SECONDS = 60.0


def until(look: Callable[[], T | None], what: str = "it", seconds: float = BOUND_SECONDS) -> T:
    """The first answer that counts as true."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.01)
    return found
