"""One Runner of a home asks one server: the instances on its disk are its own."""

from __future__ import annotations

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


class AlreadyRunning(Exception):
    """Another process has it."""


@contextmanager
def held(path: Path) -> Generator[None]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning from None
        yield
