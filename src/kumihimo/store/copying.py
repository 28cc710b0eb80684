"""Copies of a whole board, between any two databases: backup, restore and moving are all this.

A backup is a SQLite file whatever the board lies in, so it can be looked into and restored anywhere.
"""

from __future__ import annotations

from typing import Any

from kumihimo.domain.errors import KumihimoError, StoreNotEmpty, StoreTooNew
from kumihimo.store.connection import Connection
from kumihimo.store.schema import TABLES, VERSION
from kumihimo.store.store import Store

_BATCH = 500
_LATER = ("parent_id", "claimed_by")
_LINKS = ("project_agents", "task_dependencies", "start_orders")


def copy_board(source: Store, target: Store) -> dict[str, int]:
    """Every row of one board into an empty one, in one snapshot and one transaction. Answers the rows per table."""
    try:
        for connection in (source.connection, target.connection):
            _require_known(connection)
        return _copy(source.connection, target.connection)
    except KumihimoError:
        raise
    except Exception as error:
        for connection in (target.connection, source.connection):
            translated = connection.translate(error)
            if translated is not error:
                raise translated from error
        raise


def _copy(reading: Connection, writing: Connection) -> dict[str, int]:
    reading.begin_read()
    try:
        writing.begin_write()
        try:
            _require_empty(writing)
            counts = {table: _copy_table(reading, writing, table) for table in TABLES}
            _copy_later(reading, writing)
            writing.continue_numbers()
        except BaseException:
            writing.rollback()
            raise
        writing.commit()
    finally:
        reading.rollback()
    return counts


def _require_known(connection: Connection) -> None:
    """A newer board that we may work with has things that we know nothing of: a copy by us would leave them out."""
    found = connection.schema_version()
    if found > VERSION:
        raise StoreTooNew(connection.place, found=found, known=VERSION)


def _require_empty(target: Connection) -> None:
    if target.execute("SELECT 1 FROM projects LIMIT 1") or target.execute("SELECT 1 FROM events LIMIT 1"):
        raise StoreNotEmpty(target.place)


def _copy_table(source: Connection, target: Connection, table: str) -> int:
    columns = source.columns(table)
    names = ", ".join(columns)
    insert = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' for _ in columns)})"
    later = [columns.index(column) for column in _LATER] if table == "tasks" else []
    key = "seq" if "seq" in columns else columns[0]
    count, last = 0, None
    while True:
        rows = _next_rows(source, table, names, key, last)
        for row in rows:
            cells: list[Any] = list(row)
            for index in later:
                cells[index] = None
            target.execute(insert, cells)
        count += len(rows)
        if len(rows) < _BATCH or table in _LINKS:
            return count
        last = rows[-1][columns.index(key)]


def _next_rows(source: Connection, table: str, names: str, key: str, last: Any) -> list[Any]:
    if table in _LINKS:
        # Links have no key of one column; they are short rows and read at once.
        return source.execute(f"SELECT {names} FROM {table}")
    where, values = ("", ()) if last is None else (f"WHERE {key} > ?", (last,))
    return source.execute(f"SELECT {names} FROM {table} {where} ORDER BY {key} LIMIT {_BATCH}", values)


def _copy_later(source: Connection, target: Connection) -> None:
    for column in _LATER:
        for task, other in source.execute(f"SELECT id, {column} FROM tasks WHERE {column} IS NOT NULL"):
            target.execute(f"UPDATE tasks SET {column} = ? WHERE id = ?", (other, task))
