"""Upkeep: what is going on, the schema of the board, copies of it, and its old events."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from kumihimo import __version__
from kumihimo.domain.errors import StoreNotEmpty, StoreNotOurs, StoreUnreachable
from kumihimo.services.board import Board
from kumihimo.services.hosting import find_running
from kumihimo.settings import Settings
from kumihimo.store.copying import copy_board
from kumihimo.store.mapping import microseconds
from kumihimo.store.schema import VERSION, migrate
from kumihimo.store.store import connect, open_store

# A command whose connection was lost at its commit is looked for by its last event (`store/outcomes`).
_STILL_LOOKED_FOR = timedelta(minutes=10)


class Migration(msgspec.Struct, frozen=True):
    database: str
    version: int
    applied: list[int]


class Condition(msgspec.Struct, frozen=True):
    database: str
    problems: list[str]


class Copied(msgspec.Struct, frozen=True):
    source: str
    target: str
    rows: int


class Overview(msgspec.Struct, frozen=True):
    """What is going on, at a glance. `pid` and `url` are of the host process where one runs."""

    version: str
    database: str
    projects: int
    agents: int
    tasks: dict[str, int]
    live_sessions: int
    live_runs: int
    token_file: str
    runs: dict[str, int] = {}
    """How many are queued, start, run, or are planned."""
    slots: int = 0
    parked: dict[str, datetime] = {}
    """Clients that wait for a limit to end, and until when."""
    hosts: dict[str, int] = {}
    """How many homes share the board, by their state."""
    pid: int | None = None
    url: str | None = None


def bring_up_to_date(settings: Settings) -> Migration:
    connection = connect(settings.database)
    try:
        return Migration(connection.place, VERSION, migrate(connection))
    finally:
        connection.close()


def examine(settings: Settings) -> Condition:
    """Whether the database itself is whole."""
    store = open_store(settings.database)
    try:
        return Condition(store.connection.place, store.connection.check())
    except Exception as error:
        raise store.connection.translate(error) from error
    finally:
        store.close()


def backup(settings: Settings, file: Path) -> Copied:
    """The board as a SQLite file that did not exist before."""
    if file.exists() and file.stat().st_size:
        raise StoreNotEmpty(str(file))
    return _copy(settings.database, str(file))


def restore(settings: Settings, file: Path) -> Copied:
    """A backup into the board of the settings, which must be empty."""
    if not file.is_file():
        raise StoreUnreachable(str(file), reason="no such file")
    from kumihimo.store.sqlite import is_board

    if not is_board(file):
        raise StoreNotOurs(str(file))
    if _schema_of(file) == VERSION:
        return _copy(str(file), settings.database)
    # To read it is to bring it up to date. The backup stays as it is, for those who made it.
    with tempfile.TemporaryDirectory(prefix="kumi-restore-", dir=file.parent) as folder:
        copied = _copy(str(shutil.copy(file, Path(folder) / file.name)), settings.database)
    return msgspec.structs.replace(copied, source=str(file))


def move(settings: Settings, target: str) -> Copied:
    """The board into another, empty database. The old one stays as it is."""
    return _copy(settings.database, target)


def fold(board: Board, retention_days: float) -> int:
    """Remove overtaken events that are older than that."""
    before = microseconds(board.clock() - max(timedelta(days=retention_days), _STILL_LOOKED_FOR))
    gone, start = 0, 0
    while True:
        some, end = board.store.write(lambda transaction, start=start: transaction.events.fold(before, start))
        gone += some
        if end is None:
            return gone
        start = end


def overview(board: Board, settings: Settings) -> Overview:
    def look(transaction: object) -> Overview:  # noqa: ARG001 - one snapshot for all of it
        running = find_running(settings.state_folder)
        projects = board.projects.list()
        tasks: dict[str, int] = {}
        for project in projects:
            for status, count in board.tasks.counts(project.id).items():
                tasks[status] = tasks.get(status, 0) + count
        return Overview(
            version=__version__,
            database=board.store.connection.place,
            projects=len(projects),
            agents=len(board.agents.list().items),
            tasks=tasks,
            live_sessions=board.sessions.count_live(),
            live_runs=board.executions.count_live(),
            token_file=str(settings.token_file),
            runs=board.executions.counts(),
            slots=sum(host.slots for host in board.hosts.alive()) or settings.max_concurrent,
            parked=board.hosts.parked(),
            hosts=dict(Counter(view.state for view in board.hosts.list())),
            pid=running.process.pid if running else None,
            url=running.url if running else None,
        )

    return board.store.read(look)


def _schema_of(file: Path) -> int:
    """As the header of a SQLite file has it; anything for a file that is none."""
    with file.open("rb") as opened:
        return int.from_bytes(opened.read(64)[60:], "big")


def _copy(source: str, target: str) -> Copied:
    giving = open_store(source)
    try:
        taking = open_store(target)
        try:
            counts = copy_board(giving, taking)
            return Copied(giving.connection.place, taking.connection.place, sum(counts.values()))
        finally:
            taking.close()
    finally:
        giving.close()
