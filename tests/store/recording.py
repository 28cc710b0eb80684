"""A connection that remembers what it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kumihimo.store.store import Store


class RecordingConnection:
    """The real connection; `asked` has every statement with its values."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.asked: list[tuple[str, Sequence[Any]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        self.asked.append((sql, values))
        return self._connection.execute(sql, values)


def record(store: Store) -> RecordingConnection:
    """From now on everything that this store asks is remembered."""
    recording = RecordingConnection(store.connection)
    store.connection = recording
    for part in vars(store._transaction).values():
        part._connection = recording
    return recording
