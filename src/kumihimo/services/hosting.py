"""The host process of a home, as the file that it leaves says."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kumihimo.domain.session import Process
from kumihimo.engine.processes.identity import proven_dead

FILE = "up.json"


class Running(msgspec.Struct, frozen=True):
    """Where a host process is. Left behind by one that was killed: `process` tells whether it lives."""

    url: str
    port: int
    process: Process

    @property
    def alive(self) -> bool:
        return not proven_dead(self.process)


def find_running(folder: Path) -> Running | None:
    """The live host process of the home with this state folder."""
    try:
        found = msgspec.json.decode((folder / FILE).read_bytes(), type=Running)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    return found if found.alive else None
