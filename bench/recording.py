"""What a service asks of its connection, written down, to be asked again of another library."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kumihimo.store.store import Store

# One statement with its values, in the order in which they were asked.
Step = tuple[str, Sequence[Any]]
# `string_agg` with an order came with SQLite 3.44; an older library is given the nearest that it has.
_AGGREGATES = sqlite3.sqlite_version_info >= (3, 44)


class RecordingConnection:
    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.steps: list[Step] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        self.steps.append((sql, tuple(values)))
        return self._connection.execute(sql, values)

    def begin_write(self) -> None:
        self.steps.append(("BEGIN IMMEDIATE", ()))
        self._connection.begin_write()

    def begin_read(self) -> None:
        self.steps.append(("BEGIN", ()))
        self._connection.begin_read()

    def commit(self) -> None:
        self.steps.append(("COMMIT", ()))
        self._connection.commit()

    def rollback(self) -> None:
        self.steps.append(("ROLLBACK", ()))
        self._connection.rollback()


def record(store: Store, commands: Sequence[Callable[[], object]]) -> list[list[Step]]:
    """The statements of each command."""
    real, transaction = store.connection, store._transaction  # noqa: SLF001 - the bench looks behind the scenes
    recording = RecordingConnection(real)
    swap(store, transaction, recording)
    recorded: list[list[Step]] = []
    for command in commands:
        recording.steps = []
        command()
        recorded.append(recording.steps)
    swap(store, transaction, real)
    return recorded


def swap(store: Store, transaction: Any, connection: Any) -> None:
    store.connection = connection
    for part in vars(transaction).values():
        part._connection = connection  # noqa: SLF001


def open_plain(path: Path, timeout: float = 10.0) -> sqlite3.Connection:
    """The stdlib's connection with our pragmas and its own way of waiting."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=timeout)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def spoken(sql: str) -> str:
    """A statement in words that the stdlib's library knows."""
    if _AGGREGATES:
        return sql
    return sql.replace("string_agg(", "group_concat(").replace(", ',' ORDER BY position)", ", ',')")


def play(execute: Callable[[str, Sequence[Any]], Any], steps: Sequence[Step]) -> None:
    for sql, values in steps:
        execute(sql, values).fetchall()
