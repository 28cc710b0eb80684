"""What an agent has printed: read from the capture, as far as the supervisor has been through it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kumihimo.domain.errors import CursorInvalid
from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Observation
from kumihimo.services.executions import find
from kumihimo.services.service import Service, query
from kumihimo.store.store import Transaction

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
    @query
    def read(self, transaction: Transaction, reference: str, cursor: str | None, limit: int | None) -> Output:
        """Up to so many lines behind the cursor. What lies behind the position of the observation may hold secrets yet."""
        run = find(transaction, reference)
        seen = transaction.observations.of(run.id)
        end = seen.position if seen else 0
        begin = _position(cursor)
        most = max(1, min(limit or _LINES, _MOST_LINES))
        lines: list[str] = []
        if run.log_path is not None and begin < end:
            lines, begin = _read(Path(run.log_path), begin, end, most)
        return Output(lines, str(begin), not run.live and begin >= end)


def last_lines(run: Execution, seen: Observation, count: int) -> list[str]:
    """The end of what was printed, as far as secrets are struck out of it. Of very long lines the end."""
    begin = max(0, seen.position - _TAIL)
    if run.log_path is None or not seen.position:
        return []
    try:
        with Path(run.log_path).open("rb") as file:
            file.seek(begin)
            found = _lines(file.read(seen.position - begin))
    except OSError:
        # Its log is on another machine, or was cleared away.
        return []
    if begin and len(found) > 1:
        del found[0]
    return [line.rstrip(b"\r\n").decode("utf-8", "replace") for line in found[-count:]]


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise CursorInvalid(cursor)
    return int(cursor)


def _read(path: Path, begin: int, end: int, most: int) -> tuple[list[str], int]:
    try:
        with path.open("rb") as file:
            file.seek(begin)
            size = _CHUNK
            chunk = file.read(min(size, end - begin))
            while b"\n" not in chunk and begin + len(chunk) < end and size < _LONGEST:
                size *= 2
                more = file.read(min(size, end - begin - len(chunk)))
                if not more:
                    break
                chunk += more
    except FileNotFoundError:
        return [], end
    found = _lines(chunk)
    if begin + len(chunk) < end and found and not found[-1].endswith(b"\n") and len(found) > 1:
        found.pop()
    found = found[:most]
    return [line.rstrip(b"\r\n").decode("utf-8", "replace") for line in found], begin + sum(map(len, found))


def _lines(chunk: bytes) -> list[bytes]:
    """Lines as the reader has them: only a newline ends one."""
    parts = chunk.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
