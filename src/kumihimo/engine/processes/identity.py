"""Which process is which: host, boot, pid and start time. A pid alone is given out again, and a zombie is dead."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from kumihimo.domain.session import Process

_PROC = Path("/proc")


def current() -> Process:
    """This process."""
    found = of(os.getpid())
    if found is None:
        # No /proc here (macOS, BSD): known by its pid alone, and so never proven dead while that pid is in use.
        return Process(host(), boot_id(), os.getpid(), 0)
    return found


def of(pid: int) -> Process | None:
    """The process that has this pid now; None where there is none or it is a zombie."""
    state = _state_and_start(pid)
    if state is None or state[0] in "ZX":
        return None
    return Process(host(), boot_id(), pid, state[1])


def proven_dead(process: Process) -> bool:
    """True only where it is certain. What runs on another host is never certain from here."""
    if process.host != host():
        return False
    if process.boot_id != boot_id():
        return True
    if process.start_ticks == 0:
        return not _pid_in_use(process.pid)
    return of(process.pid) != process


@cache
def host() -> str:
    """This machine, as far as it can be told from others that share a database."""
    try:
        machine = Path("/etc/machine-id").read_text("ascii").strip()
    except OSError:
        machine = ""
    return f"{os.uname().nodename}/{machine[:12]}"


@cache
def boot_id() -> str:
    """Of this start of the machine. Neither changes while we live, and both are asked for with every look at a process."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return "unknown"


def _state_and_start(pid: int) -> tuple[str, int] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - asked for with every call that starts something
            stat = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    # The name stands in parentheses and may hold anything, closing ones included: count from the last.
    fields = stat[stat.rindex(")") + 2 :].split()
    return fields[0], int(fields[19])


def _pid_in_use(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
