"""Records: what is on disk of each instance, so that whoever comes after us can follow it, or knows that it never began.

The folder of an instance is its run folder, with three files more: `record.json` before anything else, `told` before the
server hears of it, and `done` once the server has heard of its end.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.runner import files
from kumihimo.runner.pair import Pair

# So long the output of an instance can be looked at.
KEPT = timedelta(days=7)


class Record(Struct, frozen=True):
    """An instance as it was to be started."""

    id: str
    server: str
    agent_id: str
    project_id: str
    client: str
    directory: str
    at: datetime

    @property
    def pair(self) -> Pair:
        return Pair(self.agent_id, self.project_id)


class Records:
    def __init__(self, folder: Path, server: str) -> None:
        self._folder = folder
        self.server = server

    def folder_of(self, instance_id: str) -> RunFolder:
        return RunFolder(self._folder / instance_id)

    def begin(self, record: Record) -> None:
        """OSError where there is no room for it: then nothing may be started."""
        files.write(self._folder / record.id / "record.json", msgspec.json.encode(record))

    def note_told(self, record: Record) -> None:
        files.write(self._folder / record.id / "told", b"")

    def was_told(self, record: Record) -> bool:
        return (self._folder / record.id / "told").exists()

    def note_done(self, instance_id: str) -> None:
        """It is over, and the server knows. Only its output stays."""
        folder = self._folder / instance_id
        if folder.is_dir():
            files.write(folder / "done", b"")

    def forget(self, record: Record) -> None:
        shutil.rmtree(self._folder / record.id, ignore_errors=True)

    def open(self) -> list[Record]:
        """Those of this server that are not done, the oldest first."""
        found = [record for folder, record in self._all() if not (folder / "done").exists()]
        return sorted((record for record in found if record.server == self.server), key=lambda record: record.at)

    def sweep(self, now: datetime) -> None:
        """Remove what was done long ago."""
        for folder, record in tuple(self._all()):
            if record.at < now - KEPT and (folder / "done").exists():
                shutil.rmtree(folder, ignore_errors=True)

    def _all(self) -> Iterator[tuple[Path, Record]]:
        for file in self._folder.glob("*/record.json"):
            try:
                yield file.parent, msgspec.json.decode(file.read_bytes(), type=Record)
            except (FileNotFoundError, msgspec.DecodeError):
                # Being removed, or not ours.
                continue
