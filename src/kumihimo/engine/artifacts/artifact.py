"""An artifact: a file of a run that others read, a piece at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol, get_args

from msgspec import Struct

Name = Literal["out", "err", "proof.json"]
NAMES: tuple[Name, ...] = get_args(Name)


class ArtifactTrouble(Exception):
    """A place where artifacts are can't be used now; the text says why."""


class Piece(Struct, frozen=True):
    """Some bytes, and how many there are in all."""

    data: bytes
    size: int


class Depot(Protocol):
    """Where artifacts of runs that are over are kept for everybody. ArtifactTrouble where it can't be used."""

    def read(self, run: str, name: Name, begin: int, end: int) -> Piece | None:
        """What lies between; a `begin` below 0 counts from the end. None where there is no such file."""
        ...

    def put(self, run: str, name: Name, file: Path, size: int) -> None:
        """The first bytes of a file, in place of whatever was there."""
        ...


def span(begin: int, end: int, size: int) -> tuple[int, int]:
    """The part of a file of this size that is meant."""
    first = max(0, size + begin) if begin < 0 else min(begin, size)
    return first, max(first, min(end, size))


def read_file(path: Path, begin: int, end: int, size: int | None = None) -> Piece | None:
    """A piece of a file of this machine, as if it had no more than `size` bytes. None where there is none."""
    try:
        with path.open("rb") as file:
            whole = file.seek(0, 2)
            whole = whole if size is None else min(size, whole)
            first, last = span(begin, end, whole)
            file.seek(first)
            return Piece(file.read(last - first), whole)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ArtifactTrouble(f"{path}: {error.strerror or error}") from error
