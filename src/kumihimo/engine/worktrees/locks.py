"""One at a time: a lock of this machine on a file, which the kernel lets go when its holder dies."""

from __future__ import annotations

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(file: Path) -> Generator[None]:
    """Wait until nobody else, in this process or another, is in here with the same file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
