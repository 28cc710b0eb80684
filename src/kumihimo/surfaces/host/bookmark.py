"""A bookmark: how far a follower has come in the log of one database. Whole or not at all, whoever is killed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec


class _Kept(msgspec.Struct):
    # A digest: the address of a database may hold a password.
    board: str
    cursor: str


class Bookmark:
    def __init__(self, file: Path, database: str) -> None:
        self._file = file
        self._board = hashlib.sha256(database.encode()).hexdigest()[:16]
        self._kept: str | None = None
        self._written: str | None = None

    def read(self) -> str | None:
        """Where to go on; None where nobody has begun, or with another database, or nothing can be read."""
        if self._kept is not None:
            return self._kept
        try:
            found = msgspec.json.decode(self._file.read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError):
            return None
        self._kept = self._written = found.cursor if found.board == self._board else None
        return self._kept

    def keep(self, cursor: str) -> None:
        """OSError where it can't be written: then it is known until this process ends."""
        self._kept = cursor
        if cursor == self._written:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        fresh.write_bytes(msgspec.json.encode(_Kept(self._board, cursor)))
        fresh.replace(self._file)
        self._written = cursor

    def drop(self) -> None:
        """Who begins again begins then, and does not tell what happened meanwhile. OSError where it can't be removed."""
        self._file.unlink(missing_ok=True)
