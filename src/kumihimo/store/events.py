"""The log of events, and the feed that readers follow.

Numbers are given out when an event is written, so a cause has a smaller one than its effect. On PostgreSQL commands
commit in another order than that; a reader therefore never goes past the horizon, behind which everything is settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from kumihimo.domain.errors import CursorInvalid
from kumihimo.domain.event import Change, Event
from kumihimo.domain.hub_call import KIND as HUB_CALL
from kumihimo.store.connection import Connection
from kumihimo.store.mapping import Row, microseconds, moment

_INSERT = "INSERT INTO events (kind, subject, project_id, actor, at, data) VALUES (?, ?, ?, ?, ?, ?)"
_ROW = "(?, ?, ?, ?, ?, ?)"
# How many rows one statement takes: each statement lets other threads run, which costs more than a row does.
_ROWS = 100
_COLUMNS = "seq, kind, subject, project_id, actor, at, data"


class Events:
    """Written only by repositories, together with the change that an event tells of."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._encoder = msgspec.json.Encoder()
        self.actor = "system"
        self.appended = 0

    def append(self, change: Change[Any]) -> None:
        if not self.appended:
            self._connection.announce()
        self.appended += 1
        value = change.value
        project = value.id if change.kind.startswith("project.") else getattr(value, "project_id", None)
        data = self._encoder.encode(value).decode()
        self._connection.execute(_INSERT, (change.kind, value.id, project, self.actor, microseconds(change.at), data))

    def append_all(self, changes: Sequence[tuple[str, Change[Any]]]) -> None:
        """Many at once, each with who is said to have done it."""
        if changes and not self.appended:
            self._connection.announce()
        self.appended += len(changes)
        encode = self._encoder.encode
        for start in range(0, len(changes), _ROWS):
            some = changes[start : start + _ROWS]
            values: list[Any] = []
            for actor, change in some:
                it = change.value
                project = getattr(it, "project_id", None)
                values += (change.kind, it.id, project, actor, microseconds(change.at), encode(it).decode())
            self._connection.execute(_INSERT.removesuffix(_ROW) + ", ".join([_ROW] * len(some)), values)

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
            f"SELECT {_COLUMNS} FROM events WHERE kind = ? AND at >= ? ORDER BY seq DESC LIMIT ?",
            (kind, microseconds(since), limit),
        )
        return [_event(row) for row in rows]

    def newest(self) -> str:
        """The cursor behind everything that is settled now."""
        return str(self._connection.horizon())

    def fold(self, before: int, after: int = 0, window: int = 2_000) -> tuple[int, int | None]:
        """Remove events older than `before` (microseconds) that a newer event of the same thing has overtaken, or that tell
        of nothing that is on the board.

        What is left still replays to the same board. Looks at one window of numbers behind `after`, so that nobody waits
        long; answers how many went, and where to go on, or None at the end.
        """
        end = after + window
        gone = self._connection.execute(
            "DELETE FROM events WHERE seq > ? AND seq <= ? AND at < ? AND (kind = ? OR EXISTS ("
            "SELECT 1 FROM events AS newer WHERE newer.subject = events.subject AND newer.seq > events.seq)) RETURNING 1",
            (after, end, before, HUB_CALL),
        )
        more = self._connection.execute("SELECT 1 FROM events WHERE seq > ? LIMIT 1", (end,))
        return len(gone), end if more else None


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise CursorInvalid(cursor)
    return int(cursor)


def _event(row: Row) -> Event:
    seq, kind, subject, project_id, actor, at, data = row
    return Event(str(seq), kind, subject, project_id, actor, moment(at), msgspec.Raw(data.encode()))
