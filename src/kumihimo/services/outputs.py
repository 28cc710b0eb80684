"""What an agent has printed: read from the capture, wherever it lies, as far as the supervisor has been through it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from kumihimo.domain.errors import CursorInvalid, InvalidValue
from kumihimo.domain.execution import Execution
from kumihimo.domain.identifiers import Identifiers
from kumihimo.domain.observation import Observation
from kumihimo.engine.artifacts.artifact import Piece
from kumihimo.services.artifacts import Artifacts
from kumihimo.services.executions import find
from kumihimo.services.service import Clock, Service, query
from kumihimo.store.store import Store, Transaction

_LINES = 200
_MOST_LINES = 10_000
_CHUNK = 1 << 20
_LONGEST = 1 << 26
_TAIL = 1 << 16


class Output(msgspec.Struct, frozen=True):
    """`done`: the run is over and this was the last of it."""

    lines: list[str]
    next_cursor: str
    done: bool


class Outputs(Service):
    def __init__(self, store: Store, clock: Clock, identifiers: Identifiers, *, artifacts: Artifacts) -> None:
        super().__init__(store, clock, identifiers)
        self._artifacts = artifacts

    def read(self, reference: str, cursor: str | None, limit: int | None) -> Output:
        """Up to so many lines behind the cursor. What lies behind the position of the observation may hold secrets yet.
        ArtifactAway where they are on a host that can't be asked."""
        run, seen = self._seen(reference)
        end = seen.position
        begin = position_of(cursor)
        most = most_lines(limit, _LINES, _MOST_LINES)
        lines: list[str] = []
        if run.log_path is not None and begin < end:
            found, begin = read_lines(self._artifacts, run, begin, end, most)
            lines = [line.rstrip(b"\r\n").decode("utf-8", "replace") for line in found]
        return Output(lines, str(begin), not run.live and (begin >= end or run.log_path is None))

    @query
    def _seen(self, transaction: Transaction, reference: str) -> tuple[Execution, Observation]:
        run = find(transaction, reference)
        return run, transaction.observations.of(run.id) or Observation(run.id)


def last_lines(artifacts: Artifacts, run: Execution, seen: Observation, count: int) -> list[str]:
    """The end of what was printed, as far as secrets are struck out of it. Of very long lines the end."""
    begin = max(0, seen.position - _TAIL)
    if run.log_path is None or not seen.position:
        return []
    piece = artifacts.read(run, "out", begin, seen.position)
    found = _lines(piece.data) if piece is not None else []
    if begin and len(found) > 1:
        del found[0]
    return [line.rstrip(b"\r\n").decode("utf-8", "replace") for line in found[-count:]]


def most_lines(limit: int | None, usual: int, most: int) -> int:
    """How many lines to give. More than there may be at once is no mistake: the cursor leads on."""
    if limit is not None and limit < 1:
        raise InvalidValue("limit", "out_of_range", value=limit, least=1, most=most)
    return min(limit or usual, most)


def position_of(cursor: str | None) -> int:
    """Where in a capture a cursor stands."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise CursorInvalid(cursor)
    return int(cursor)


def read_lines(artifacts: Artifacts, run: Execution, begin: int, end: int, most: int) -> tuple[list[bytes], int]:
    """Up to so many lines, with their ends, and where the next one begins."""
    chunk = _chunk(lambda first, last: artifacts.read(run, "out", first, last), begin, end)
    if chunk is None:
        return [], end
    found = _lines(chunk)
    if begin + len(chunk) < end and found and not found[-1].endswith(b"\n") and len(found) > 1:
        found.pop()
    found = found[:most]
    return found, begin + sum(map(len, found))


def _chunk(read: Callable[[int, int], Piece | None], begin: int, end: int) -> bytes | None:
    """Some of what lies between, with at least one end of a line in it where there is one. None where nothing is left."""
    size = _CHUNK
    piece = read(begin, min(begin + size, end))
    if piece is None:
        return None
    found = bytearray(piece.data)
    while piece.data and b"\n" not in piece.data and begin + len(found) < end and size < _LONGEST:
        size *= 2
        first = begin + len(found)
        piece = read(first, min(first + size, end))
        if piece is None:
            break
        found += piece.data
    return bytes(found)


def _lines(chunk: bytes) -> list[bytes]:
    """Lines as the reader has them: only a newline ends one."""
    parts = chunk.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
