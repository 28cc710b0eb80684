"""Copies of a whole board, between any two databases: backup, restore and moving are all this.

A backup is a SQLite file whatever the board lies in, so it can be looked into and restored anywhere.
"""

from __future__ import annotations

from typing import Any

from kumihimo.domain.errors import StoreNotEmpty
from kumihimo.store.connection import Connection
from kumihimo.store.store import Store

# In this order every row finds what it points to; tasks point to one another and get their parents afterwards.
TABLES = (
    "meta",
    "projects",
    "agents",
    "passkeys",
    "project_agents",
    "tasks",
    "task_dependencies",
    "context_entries",
    "handoffs",
    "memories",
    "sessions",
    "run_groups",
    "executions",
    "events",
)
_BATCH = 500


def copy_board(source: Store, target: Store) -> dict[str, int]:
    """Every row of one board into an empty one, in one snapshot and one transaction. Answers the rows per table."""
    reading, writing = source.connection, target.connection
    reading.begin_read()
    try:
        writing.begin_write()
        try:
            _require_empty(writing)
            counts = {table: _copy_table(reading, writing, table) for table in TABLES}
            _copy_parents(reading, writing)
            writing.continue_numbers()
        except BaseException:
            writing.rollback()
            raise
        writing.commit()
    finally:
        reading.rollback()
    return counts


def _require_empty(target: Connection) -> None:
    if target.execute("SELECT 1 FROM projects LIMIT 1") or target.execute("SELECT 1 FROM events LIMIT 1"):
        raise StoreNotEmpty(target.place)


def _copy_table(source: Connection, target: Connection, table: str) -> int:
    columns = source.columns(table)
    names = ", ".join(columns)
    insert = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' for _ in columns)})"
    parent = columns.index("parent_id") if table == "tasks" else None
    key = "seq" if "seq" in columns else columns[0]
    count, last = 0, None
    while True:
        rows = _next_rows(source, table, names, key, last)
        for row in rows:
            cells: list[Any] = list(row)
            if parent is not None:
                cells[parent] = None
            target.execute(insert, cells)
        count += len(rows)
        if len(rows) < _BATCH or table in ("project_agents", "task_dependencies"):
            return count
        last = rows[-1][columns.index(key)]


def _next_rows(source: Connection, table: str, names: str, key: str, last: Any) -> list[Any]:
    if table in ("project_agents", "task_dependencies"):
        # Links have no key of one column; they are short rows and read at once.
        return source.execute(f"SELECT {names} FROM {table}")
    where, values = ("", ()) if last is None else (f"WHERE {key} > ?", (last,))
    return source.execute(f"SELECT {names} FROM {table} {where} ORDER BY {key} LIMIT {_BATCH}", values)


def _copy_parents(source: Connection, target: Connection) -> None:
    for task, parent in source.execute("SELECT id, parent_id FROM tasks WHERE parent_id IS NOT NULL"):
        target.execute("UPDATE tasks SET parent_id = ? WHERE id = ?", (parent, task))
