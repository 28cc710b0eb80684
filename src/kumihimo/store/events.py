"""The log of events, and the feed that readers follow.

Numbers are given out when an event is written, so a cause has a smaller one than its effect. On PostgreSQL commands
commit in another order than that; a reader therefore never goes past the horizon, behind which everything is settled.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

import msgspec

from kumihimo.domain.errors import CursorInvalid
from kumihimo.domain.event import PASSING, Change, Event
from kumihimo.store.connection import Connection
from kumihimo.store.mapping import Row, microseconds, moment

_INSERT = "INSERT INTO events (kind, subject, project_id, actor, at, data)"
_ROW = "(?, ?, ?, ?, ?, ?)"
_CELLS = 6
# How many rows one statement takes: each statement lets other threads run, which costs more than a row does.
_ROWS = 100
_COLUMNS = "seq, kind, subject, project_id, actor, at, data"
# After these a host may have something to do: something waits, is to be stopped, or makes room for others by its end.
_WORK = frozenset(
    f"execution.{word}"
    for word in (
        "queued", "reached", "released", "planned", "unplaced", "stopping",
        "completed", "failed", "timed_out", "cancelled", "lost", "reported", "verified", "merged",
    )
)  # fmt: skip


class Events:
    """Appended only by repositories, together with the change that an event tells of. Those of one command are written together,
    at its end: nobody reads them before."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._encoder = msgspec.json.Encoder()
        self._cells: list[Any] = []
        self.actor = "system"
        self.appended = 0
        # By which the command is found again if its connection is lost: what the database says of the last one, and its cells.
        self.told: Row = ()
        self.last: Row = ()
        self.work = False

    def begin(self, actor: str) -> None:
        """A command begins, and nothing is written yet."""
        self.actor, self.appended, self.work = actor, 0, False
        self._cells = []

    def append(self, change: Change[Any], actor: str | None = None) -> None:
        """`actor` is who is said to have done it, where that is not who does the command."""
        self.appended += 1
        kind, value = change.kind, change.value
        self.work = self.work or kind in _WORK
        project = value.id if kind.startswith("project.") else getattr(value, "project_id", None)
        data = self._encoder.encode(value).decode()
        self._cells += (kind, value.id, project, actor or self.actor, microseconds(change.at), data)

    def write(self) -> None:
        """Everything that was appended since the command began, in its order."""
        if not self._cells:
            return
        appended = self._connection.dialect.appended
        cells, most = self._cells, _ROWS * _CELLS
        for start in range(0, len(cells), most):
            some = cells[start : start + most]
            rows = ", ".join([_ROW] * (len(some) // _CELLS))
            told = self._connection.execute(appended.format(insert=_INSERT, rows=rows), some)
            self.told, self.last = told[-1] if told else (), tuple(some[-_CELLS:])
        self._cells = []

    def after(self, cursor: str | None, limit: int = 500) -> list[Event]:
        """The next settled events, oldest first. No cursor: from the beginning."""
        position = _position(cursor)
        horizon = self._connection.horizon()
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
            (position, horizon, limit),
        )
        if not rows and cursor is not None and position > horizon:
            self._refuse_the_future(cursor, position)
        return [_event(row) for row in rows]

    def _refuse_the_future(self, cursor: str, position: int) -> None:
        """A cursor behind the newest event is another board's; waiting for it to come true would be waiting for ever."""
        if position > self._connection.execute("SELECT coalesce(max(seq), 0) FROM events")[0][0]:
            raise CursorInvalid(cursor)

    def newest_of(self, kind: str, since: datetime, limit: int) -> list[Event]:
        """The newest events of one kind, the newest first."""
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM events WHERE kind = {_quoted(kind)} AND at >= ? ORDER BY seq DESC LIMIT ?",
            (microseconds(since), limit),
        )
        return [_event(row) for row in rows]

    def first_of(self, kinds: Collection[str], subjects: Collection[str], until: str) -> dict[str, str]:
        """The cursor of the first event of these kinds of each of these things, up to a cursor; of some there may be none."""
        found: dict[str, str] = {}
        rest = list(subjects)
        while rest:
            some, rest = rest[:_ROWS], rest[_ROWS:]
            rows = self._connection.execute(
                f"SELECT subject, min(seq) FROM events WHERE subject IN ({', '.join('?' * len(some))}) "
                f"AND kind IN ({', '.join('?' * len(kinds))}) AND seq <= ? GROUP BY subject",
                (*some, *kinds, _position(until)),
            )
            found |= {subject: str(seq) for subject, seq in rows}
        return found

    def newest(self) -> str:
        """The cursor behind everything that is settled now."""
        return str(self._connection.horizon())

    def last_at(self) -> datetime | None:
        """When the newest event was written, by the clock of who wrote it."""
        rows = self._connection.execute("SELECT at FROM events ORDER BY seq DESC LIMIT 1")
        return moment(rows[0][0]) if rows else None

    def fold(self, before: int, after: int = 0, window: int = 2_000) -> tuple[int, int | None]:
        """Remove events older than `before` (microseconds) that a newer event of the same thing has overtaken, or that tell
        of nothing that is on the board.

        What is left still replays to the same board. Looks at one window of numbers behind `after`, so that nobody waits
        long; answers how many went, and where to go on, or None at the end.
        """
        end = after + window
        gone = self._connection.execute(
            f"DELETE FROM events WHERE seq > ? AND seq <= ? AND at < ? AND (kind IN ({', '.join('?' * len(PASSING))}) "
            "OR EXISTS (SELECT 1 FROM events AS newer WHERE newer.subject = events.subject AND newer.seq > events.seq)) "
            "RETURNING 1",
            (after, end, before, *PASSING),
        )
        more = self._connection.execute("SELECT 1 FROM events WHERE seq > ? LIMIT 1", (end,))
        return len(gone), end if more else None


def _quoted(kind: str) -> str:
    """One of our own words, written out: an index of some kinds only is used where the kind stands in the statement."""
    assert kind.replace(".", "").replace("_", "").isalpha(), "a kind of event"
    return f"'{kind}'"


def newer(cursor: str, other: str) -> bool:
    """Whether a cursor lies behind another one."""
    return int(cursor) > int(other)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise CursorInvalid(cursor)
    return int(cursor)


def _event(row: Row) -> Event:
    seq, kind, subject, project_id, actor, at, data = row
    return Event(str(seq), kind, subject, project_id, actor, moment(at), msgspec.Raw(data.encode()))
