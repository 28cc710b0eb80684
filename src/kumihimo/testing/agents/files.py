# pathlib costs more than the rest of a start.
# ruff: noqa: PTH103, PTH120
"""Files and the log, without pathlib."""

from __future__ import annotations

import os
import time

from kumihimo.testing.agents import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read_bytes(descriptor: int) -> bytes:
    """Everything to the end."""
    parts: list[bytes] = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def read_text(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_bytes(descriptor).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def write_text(path: str, text: str) -> None:
    """Written anew, with the folders that it needs."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    write_all(descriptor, text.encode("utf-8", "surrogateescape"))
    os.close(descriptor)


def exists(path: str) -> bool:
    return os.path.lexists(path)


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def append(path: str, record: dict[str, Any]) -> None:
    """One record in one write, so that many processes can share a log."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    os.write(descriptor, json_text.line(record))
    os.close(descriptor)


def wait_for(path: str, seconds: float | None) -> bool:
    """Until the file is there; False where the time is over first."""
    until = None if seconds is None else time.monotonic() + seconds
    while not exists(path):
        if until is not None and time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def start_ticks(pid: int | str = "self") -> int:
    """When a process started, as the kernel counts it: with the pid, its identity. 0 where there is no /proc."""
    try:
        stat = read_text(f"/proc/{pid}/stat")
    except OSError:
        return 0
    return int(stat[stat.rindex(")") + 2 :].split()[19])
