"""A folder that every host of a board has, under whatever name: a network drive, for one."""

from __future__ import annotations

import os
from pathlib import Path

from kumihimo.engine.artifacts.artifact import ArtifactTrouble, Name, Piece, read_file

_CHUNK = 1 << 20


class SharedFolder:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, run: str, name: Name, begin: int, end: int) -> Piece | None:
        self._require()
        return read_file(self._path / run / name, begin, end)

    def put(self, run: str, name: Name, file: Path, size: int) -> None:
        """Whole or not at all, for whoever reads at the same time."""
        self._require()
        place = self._path / run
        draft = place / f".{name}.{os.getpid()}"
        try:
            place.mkdir(mode=0o770, exist_ok=True)
            _copy(file, draft, size)
            draft.replace(place / name)
        except OSError as error:
            raise ArtifactTrouble(f"{place / name}: {error.strerror or error}") from error
        finally:
            draft.unlink(missing_ok=True)

    def _require(self) -> None:
        """It is never made: where a drive is not mounted, what is put there would be seen by nobody."""
        if not self._path.is_dir():
            raise ArtifactTrouble(f"there is no folder {self._path}: is it mounted?")


def _copy(file: Path, draft: Path, size: int) -> None:
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o660)
    with os.fdopen(descriptor, "wb") as target, file.open("rb") as source:
        while size > 0 and (chunk := source.read(min(_CHUNK, size))):
            target.write(chunk)
            size -= len(chunk)
        target.flush()
        os.fsync(target.fileno())
