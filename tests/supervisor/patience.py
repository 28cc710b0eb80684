"""Waiting for what another process does by itself."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kumihimo.store.store import Store

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


def hold_still(store: Store, pid: int) -> None:
    """Stop a process between two of its commands: inside one it would keep everybody else from the store."""

    def stop(_: object) -> None:
        os.kill(pid, signal.SIGSTOP)
        until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "standstill")

    store.write(stop)
