"""Admission: whether the machine has room for one more agent. It delays, it never refuses."""

from __future__ import annotations

import os
from pathlib import Path

from kumihimo.settings import Admission

# What an agent CLI of today takes at its start, with some room.
_NEEDED_MEMORY = 400 << 20
_LOAD_PER_CORE = 4.0


def has_room(rule: Admission, running: int) -> bool:
    """The first run is always let in: a busy machine is slow, but it must not stand still."""
    return rule == "slots" or running == 0 or (_free_memory() >= _NEEDED_MEMORY and _load() < _LOAD_PER_CORE)


def _free_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return _NEEDED_MEMORY


def _load() -> float:
    return os.getloadavg()[0] / (os.cpu_count() or 1)
