"""Where a host is reached by others: by a name that everybody knows, or on this very machine."""

from __future__ import annotations

import hashlib
import os
from functools import cache

from kumihimo.engine.processes.identity import boot_id, host


@cache
def machine() -> str:
    """This machine and its network: who says the same reaches the same 127.0.0.1."""
    try:
        network = os.readlink("/proc/self/ns/net")  # noqa: PTH115 - it is no path
    except OSError:
        network = ""
    return hashlib.sha256(f"{host()} {boot_id()} {network}".encode()).hexdigest()[:16]


def on_this_machine(url: str) -> str:
    """The address of a door that only who is here can reach."""
    return f"{url}#{machine()}"


def reachable(address: str) -> str | None:
    """The URL that is behind an address; None where it is for another machine: its 127.0.0.1 is not ours."""
    url, _, where = address.partition("#")
    return url if where in ("", machine()) else None
