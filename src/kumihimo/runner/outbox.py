"""The outbox: reports that wait on disk until the server has taken them, so that an end is told although one of us was away."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from kumihimo.runner import files
from kumihimo.runner.report import Report


class _Letter(Struct, frozen=True):
    """A report and the server that it is for: another one knows nothing of the instance."""

    server: str
    report: Report


class Outbox:
    """Of each instance at most one report waits: that of its end."""

    def __init__(self, folder: Path, server: str) -> None:
        self._folder = folder
        self._server = server
        # What there was no room for on disk. It is lost with us, and found again in the folder of its instance.
        self._in_memory: dict[str, Report] = {}

    def put(self, report: Report) -> OSError | None:
        """Keep it. The error, where it could only be remembered."""
        try:
            files.write(self._path(report.instance_id), msgspec.json.encode(_Letter(self._server, report)))
        except OSError as error:
            self._in_memory[report.instance_id] = report
            return error
        self._in_memory.pop(report.instance_id, None)
        return None

    def waiting(self) -> list[Report]:
        """Every report for this server, those of earlier days as well."""
        found = dict(self._in_memory)
        for path in sorted(self._folder.glob("*.json")):
            letter = _read(path)
            if letter is not None and letter.server == self._server:
                found[letter.report.instance_id] = letter.report
        return list(found.values())

    def holds(self, instance_id: str) -> bool:
        return instance_id in self._in_memory or self._path(instance_id).exists()

    def delivered(self, report: Report) -> None:
        self._in_memory.pop(report.instance_id, None)
        self._path(report.instance_id).unlink(missing_ok=True)

    def _path(self, instance_id: str) -> Path:
        return self._folder / f"{instance_id}.json"


def _read(path: Path) -> _Letter | None:
    """None for what is no letter of ours. Its instance has a folder, from which the report is written again."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Letter)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        path.unlink(missing_ok=True)
        return None
