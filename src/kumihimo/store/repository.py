"""What every repository can do: read by id, lock, and write a change together with its event."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from kumihimo.domain.event import Change
from kumihimo.store.connection import Connection
from kumihimo.store.events import Events
from kumihimo.store.mapping import TableMapping

# How many rows one statement takes.
_ROWS = 100
V = TypeVar("V", bound=msgspec.Struct)


class Repository(Generic[V]):
    """One table of values that have an id. Subclasses say the mapping and add their own questions."""

    mapping: ClassVar[TableMapping[Any]]

    def __init__(self, connection: Connection, events: Events) -> None:
        self._connection = connection
        self._events = events
        self._questions: dict[str, str] = {}

    def get(self, identifier: str) -> V | None:
        rows = self._connection.execute(self.mapping.by_id, (identifier,))
        return self.mapping.value(rows[0]) if rows else None

    def lock(self, identifier: str) -> V | None:
        """As `get`, and nobody else changes it until we commit.

        Where other tables hold a part of it the row is locked before it is read: PostgreSQL gives a row that it waited for in
        its new version, but what a subquery adds to it in the old one. NO KEY: who only points at the row (a subtask that is
        being added) need not wait.
        """
        mapping = self.mapping
        if not self._connection.dialect.row_locks:
            return self.get(identifier)
        if mapping.whole:
            rows = self._connection.execute(f"{mapping.by_id} FOR NO KEY UPDATE", (identifier,))
            return mapping.value(rows[0]) if rows else None
        self._connection.execute(f"SELECT 1 FROM {mapping.table} WHERE id = ? FOR NO KEY UPDATE", (identifier,))
        return self.get(identifier)

    def one(self, where: str, *values: Any) -> V | None:
        # One string for each question, not one for each time it is asked: the database knows statements by their text.
        sql = self._questions.get(where)
        if sql is None:
            sql = self._questions[where] = (
                f"SELECT {self.mapping.selected} FROM {self.mapping.table} WHERE {where} LIMIT 1"
            )
        rows = self._connection.execute(sql, values)
        return self.mapping.value(rows[0]) if rows else None

    def many(self, rest: str = "", values: Sequence[Any] = ()) -> list[V]:
        """`rest` is everything after the table's name."""
        rows = self._connection.execute(f"SELECT {self.mapping.selected} FROM {self.mapping.table} {rest}", values)
        value = self.mapping.value
        return [value(row) for row in rows]

    def count(self, where: str, *values: Any) -> int:
        return self._connection.execute(f"SELECT count(*) FROM {self.mapping.table} WHERE {where}", values)[0][0]

    def starting_with(self, prefix: str, limit: int = 4) -> list[V]:
        """By a prefix of the id, as a range of the primary key."""
        return self.many("WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", (prefix, prefix + "\x7f", limit))

    def add(self, change: Change[V]) -> bool:
        """A new row with its event. False, and nothing written, where a unique index holds the place."""
        return self.add_all((change,))[0]

    def add_all(self, changes: Sequence[Change[V]]) -> list[bool]:
        """As `add`, for each of many, which are written by one statement."""
        added: list[bool] = []
        for start in range(0, len(changes), _ROWS):
            added += self._add_some(changes[start : start + _ROWS])
        return added

    def save(self, change: Change[V]) -> None:
        """The new value of a row that was locked, with its event."""
        self.save_all((change,))

    def save_all(self, changes: Sequence[Change[V]]) -> None:
        """As `save`, for each of many: those that change in the same way are written by one statement."""
        alike: dict[tuple[Any, ...], list[Any]] = {}
        for change in changes:
            changed = self._changed(change)
            if changed is not None:
                assignments, cells = changed
                identifier = cells.pop()
                alike.setdefault((assignments, *cells), []).append(identifier)
            self._events.append(change)
        for (assignments, *cells), identifiers in alike.items():
            # Asked for one in a list, SQLite makes a table of the list.
            which = "= ?" if len(identifiers) == 1 else f"IN ({', '.join('?' * len(identifiers))})"
            sql = f"UPDATE {self.mapping.table} SET {assignments} WHERE id {which}"
            self._connection.execute(sql, (*cells, *identifiers))

    def _changed(self, change: Change[V]) -> tuple[str, list[Any]] | None:
        """The columns to write, and their cells with the id at the end; None where nothing is otherwise."""
        if change.before is None:
            return self.mapping.assignments, self.mapping.row_for_update(change.value)
        return self.mapping.difference(change.before, change.value)

    def _add_some(self, changes: Sequence[Change[V]]) -> list[bool]:
        mapping = self.mapping
        rows = [mapping.row(change.value) for change in changes]
        added = self._connection.execute(
            f"INSERT INTO {mapping.table} ({mapping.columns}) VALUES {', '.join([f'({mapping.marks})'] * len(rows))} "
            "ON CONFLICT DO NOTHING RETURNING id",
            [cell for row in rows for cell in row],
        )
        identifiers = {identifier for (identifier,) in added}
        there = [row[mapping.key] in identifiers for row in rows]
        for change in compress(changes, there):
            self._events.append(change)
        return there
