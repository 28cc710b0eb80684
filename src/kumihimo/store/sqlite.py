"""SQLite through apsw: the default store, one file, many processes.

The library is apsw's own: several processes that write and checkpoint one file can lose commits with SQLite before
3.51.3. A command begins IMMEDIATE, so it never has to turn a read lock into a write lock, which is where "database is
locked" comes from. Waiting is jittered: SQLite's own handler backs off to 100 ms and starves.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from kumihimo.domain.errors import (
    LibraryTooOld,
    StoreDamaged,
    StoreNotOurs,
    StoreNotWritable,
    StoreUnreachable,
)
from kumihimo.store.mapping import Row
from kumihimo.store.schema import outgrown

NEEDED = (3, 51, 3)
APPLICATION_ID = 0x4B554D49  # "KUMI", so that no other program's file is taken for ours
_SCHEMA = "kumihimo_schema"
_HEADER = b"SQLite format 3\0"
_LONGEST_SECONDS = 0.003
_SHORTEST_SECONDS = 0.0003
_AGING = 0.5
_PATIENCE_ATTEMPTS = 120_000
# What a command touches has to fit, or SQLite writes it twice; it grows only as far as it is used.
_CACHE_KILOBYTES = 8_000
# A prepared statement is forgotten once so many others were asked behind it, also the same ones again and again: to prepare
# one takes several times as long as to run it.
_STATEMENTS = 1_000
# So many pages of the log are brought into the file by the host when nothing else is going on. Else the commit that fills the
# thousandth does it.
_ENOUGH_LOGGED = 250


class SqliteDialect:
    name = "sqlite"
    words = {"id": "TEXT", "serial": "INTEGER PRIMARY KEY"}  # noqa: RUF012 - a protocol's attribute
    row_locks = False
    # Only one process writes at a time, so the order of events is the order of commits.
    appended = "{insert} VALUES {rows}"
    skip_locked = ""
    light: str | None = None


class SqliteConnection:
    dialect = SqliteDialect()

    def __init__(self, path: Path) -> None:
        require_library(apsw.sqlite_lib_version(), str(path))
        self.path = path
        self._bell = path.with_name(path.name + ".bell")
        # apsw's own types name `Buffer` of Python 3.12; to a checker on 3.11 they are unknown.
        self._database: Any = _open(path)
        self._cursor: Any = self._database.cursor()
        self._bell_file: int | None = None

    def now(self) -> datetime:
        return datetime.now(UTC)

    @property
    def place(self) -> str:
        return str(self.path)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        # One cursor for all: every answer is taken whole before the next question is asked.
        return self._cursor.execute(sql, values).fetchall()

    def begin_write(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def begin_read(self) -> None:
        self._database.execute("BEGIN")

    def ready(self) -> None:
        """Nothing to do: a file does not hang up."""

    def commit(self) -> None:
        self._database.execute("COMMIT")

    def rollback(self) -> None:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    def retry(self, error: Exception) -> bool:  # noqa: ARG002 - the write lock is held from the start: nothing to lose
        return False

    def translate(self, error: Exception) -> Exception:
        match error:
            case apsw.NotADBError():
                return StoreNotOurs(self.place)
            case apsw.CorruptError():
                return StoreDamaged(self.place, reason=str(error))
            case (
                apsw.ReadOnlyError()
                | apsw.FullError()
                | apsw.CantOpenError()
                | apsw.IOError()
                | apsw.PermissionsError()
            ):
                return StoreNotWritable(self.place, reason=str(error))
            case apsw.BusyError() | apsw.LockedError():
                return StoreUnreachable(self.place, reason=str(error))
            case apsw.SQLError() | apsw.ConstraintError():
                return outgrown(self, error)
            case _:
                return error

    def horizon(self) -> int:
        return self.execute("SELECT coalesce(max(seq), 0) FROM events")[0][0]

    def notify(self, told: Row, last: Row, *, work: bool) -> None:
        """Nothing to do: the bell is rung after the commit."""

    def ring(self) -> None:
        """One byte into a file beside the database. Never watched: `-wal`, which goes away with its last user."""
        # What was committed is committed: a bell that can't be rung must not make anybody do it again. Readers look by
        # themselves within a second.
        with suppress(OSError):
            if self._bell_file is None:
                self._bell_file = os.open(self._bell, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.pwrite(self._bell_file, b"!", 0)

    @property
    def bell(self) -> Path:
        return self._bell

    def schema_version(self) -> int:
        return self.execute("PRAGMA user_version")[0][0]

    def schema_oldest(self) -> int:
        if self.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (_SCHEMA,)):
            return self.execute(f"SELECT oldest FROM {_SCHEMA}")[0][0]
        return self.schema_version()

    def set_schema_version(self, version: int, oldest: int | None = None) -> None:
        self._database.execute(f"PRAGMA user_version = {version:d}")
        self._database.execute(f"DROP TABLE IF EXISTS {_SCHEMA}")
        if oldest is not None and oldest < version:
            self._database.execute(f"CREATE TABLE {_SCHEMA} (oldest INTEGER NOT NULL)")
            self._database.execute(f"INSERT INTO {_SCHEMA} (oldest) VALUES (?)", (oldest,))

    def make_way(self) -> None:
        """Nothing to do: who writes has the file for himself, and who reads waits for nobody."""

    def check(self) -> list[str]:
        found = [str(row[0]) for row in self.execute("PRAGMA integrity_check")]
        if found != ["ok"]:
            # Where the file itself is broken, asking for more may break off.
            return found
        return [
            f"{row[0]} row {row[1]} points to nothing in {row[2]}" for row in self.execute("PRAGMA foreign_key_check")
        ]

    def columns(self, table: str) -> list[str]:
        return [row[1] for row in self.execute(f"PRAGMA table_info({table})")]

    def tidy(self) -> None:
        _, logged, brought = self.execute("PRAGMA wal_checkpoint(NOOP)")[0]
        if logged - brought >= _ENOUGH_LOGGED:
            # As far as it goes without anybody waiting for it.
            self.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def continue_numbers(self) -> None:
        """Nothing to do: the next number is always behind the greatest."""

    def another(self) -> SqliteConnection:
        """A second connection to the same file, which sees what this one commits."""
        return SqliteConnection(self.path)

    def close(self) -> None:
        self._database.close()
        if self._bell_file is not None:
            os.close(self._bell_file)
            self._bell_file = None


def require_library(found: str, place: str) -> None:
    """Refuse a SQLite that can lose commits."""
    if tuple(int(part) for part in found.split(".")[:3]) < NEEDED:
        raise LibraryTooOld(place, found=found, needed=".".join(map(str, NEEDED)))


def _open(path: Path) -> Any:
    _make_file(path)
    try:
        # No mutex: a store belongs to one thread at a time.
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX
        database: Any = apsw.Connection(str(path), flags=flags, statementcachesize=_STATEMENTS)
    except (apsw.CantOpenError, apsw.PermissionsError) as error:
        raise StoreNotWritable(str(path), reason=str(error)) from None
    try:
        database.set_busy_handler(_wait_a_moment)
        _recognise(database, path)
        _enter_wal(database)
        database.execute("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF")
        database.execute(f"PRAGMA cache_size = -{_CACHE_KILOBYTES}")
    except apsw.NotADBError:
        database.close()
        raise StoreNotOurs(str(path)) from None
    except apsw.CorruptError as error:
        database.close()
        raise StoreDamaged(str(path), reason=str(error)) from None
    except apsw.BusyError as error:
        database.close()
        raise StoreUnreachable(str(path), reason=str(error)) from None
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.FullError, apsw.IOError) as error:
        database.close()
        raise StoreNotWritable(str(path), reason=str(error)) from None
    return database


def _make_file(path: Path) -> None:
    """The file and its folder, for the owner alone: hashes of passkeys are in it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with path.open("rb") as file:
            header = file.read(len(_HEADER))
    except OSError as error:
        raise StoreNotWritable(str(path), reason=error.strerror or str(error)) from None
    if header and header != _HEADER:
        raise StoreNotOurs(str(path))


def is_board(path: Path) -> bool:
    """By the header of a file, which is left as it is."""
    with path.open("rb") as file:
        header = file.read(72)
    return header.startswith(_HEADER) and int.from_bytes(header[68:], "big") == APPLICATION_ID


def _recognise(database: Any, path: Path) -> None:
    """Ours, or empty and then marked as ours; anything else is left alone."""
    if database.pragma("application_id") == APPLICATION_ID:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        if database.pragma("application_id") != APPLICATION_ID:
            if database.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0][0]:
                raise StoreNotOurs(str(path))
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _enter_wal(database: Any) -> None:
    """The first of several starters changes the mode; SQLite does not ask the busy handler for that, so we wait here."""
    attempts = 0
    while database.pragma("journal_mode") != "wal":
        try:
            database.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if not _wait_a_moment(attempts):
                raise
        attempts += 1


def _wait_a_moment(attempts: int) -> bool:
    """Sleep a random while, the shorter the longer one has waited, so that the oldest in line is the first to see its chance.

    Gives up after about half a minute.
    """
    longest = _LONGEST_SECONDS / (1 + attempts * _AGING)
    if attempts > _PATIENCE_ATTEMPTS:
        return False
    time.sleep(random.random() * max(longest, _SHORTEST_SECONDS))  # noqa: S311 - jitter, not a secret
    return True
