"""Boards that older versions made, opened by today's; and copies that are made while others write."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kumihimo.app import open_board
from kumihimo.domain.errors import StoreTooNew
from kumihimo.domain.retry import RetryPolicy
from kumihimo.services import upkeep
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.settings import Flags, Settings, load
from kumihimo.store.connection import Connection
from kumihimo.store.schema import TABLES, VERSION, statements
from kumihimo.store.store import connect, open_store
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.promises.mixture import Mixture
from tests.promises.replay import require_same_board

OLD = range(1, VERSION)
# What no constraint may see while it is written in the order of the tables.
_LOOSE = {"sqlite": "PRAGMA foreign_keys = OFF", "postgres": "SET session_replication_role = replica"}
_TIGHT = {"sqlite": "PRAGMA foreign_keys = ON", "postgres": "SET session_replication_role = origin"}


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[BoardKit]:
    """A board on which a lot has happened."""
    kit = BoardKit(tmp_path / "busy.db")
    made = kit.board.projects.init(str(tmp_path), git=False)
    kit.board.agents.add("solo")
    kit.board.groups.create("together", project_id=made.project.id)
    Mixture(kit.board, made.project.id, 1).run(120)
    yield kit
    kit.close()


def settings_for(database: str, folder: Path) -> Settings:
    return load(Flags(db=database), {"KUMI_HOME": str(folder / "home")}, folder)


def tables(connection: Connection) -> list[str]:
    return [table for table in TABLES if connection.columns(table)]


def cells(connection: Connection, table: str, columns: list[str]) -> list[Any]:
    return sorted(connection.execute(f"SELECT {', '.join(columns)} FROM {table}"), key=repr)


def as_it_was(version: int, database: str, busy: BoardKit) -> dict[str, list[Any]]:
    """The busy board in a database of an older schema: every table and column that there was. Answers what is in it."""
    old, source = connect(database), busy.board.store.connection
    old.begin_write()
    for step in range(1, version + 1):
        for statement in statements(step, old.dialect.words):
            old.execute(statement)
    old.set_schema_version(version)
    old.commit()
    old.execute(_LOOSE[old.dialect.name])
    old.begin_write()
    for table in tables(old):
        columns = [column for column in source.columns(table) if column in old.columns(table)]
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        for row in source.execute(f"SELECT {', '.join(columns)} FROM {table}"):
            old.execute(insert, row)
    old.continue_numbers()
    old.commit()
    old.execute(_TIGHT[old.dialect.name])
    kept = {table: cells(old, table, old.columns(table)) for table in tables(old)}
    old.close()
    assert kept["tasks"], "something is there to be lost"
    assert kept["events"]
    return kept


@pytest.mark.parametrize("version", OLD)
def test_a_board_of_an_older_version_is_opened_with_nothing_lost(
    database: str, busy: BoardKit, tmp_path: Path, version: int
) -> None:
    kept = as_it_was(version, database, busy)
    columns = {table: _old_columns(version, tmp_path, table) for table in kept}
    opened = BoardKit(database)
    now = opened.board.store.connection
    assert now.schema_version() == VERSION
    assert now.check() == []
    for table, rows in kept.items():
        assert sorted(now.execute(f"SELECT {', '.join(columns[table])} FROM {table}"), key=repr) == rows, table
    here = Place(busy.board.projects.list()[0].id)
    before = {view.task.number: view.task for view in opened.board.tasks.list(here, limit=1000).items}
    # What nobody could say at that time is as if nobody had said it.
    assert {task.retry for task in before.values()} == {RetryPolicy()}
    made = opened.board.tasks.create(here, NewTask("after the upgrade")).task
    assert made.number not in before
    assert opened.board.store.events_after(None, 10_000)[-1].subject == made.id
    opened.close()


def _old_columns(version: int, folder: Path, table: str) -> list[str]:
    """In the order in which the older schema had them."""
    connection = connect(folder / "columns.db")
    if not connection.schema_version():
        connection.begin_write()
        for step in range(1, version + 1):
            for statement in statements(step, connection.dialect.words):
                connection.execute(statement)
        connection.set_schema_version(version)
        connection.commit()
    found = connection.columns(table)
    connection.close()
    return found


@pytest.mark.parametrize("version", OLD)
def test_a_backup_of_an_older_version_is_restored_and_stays_as_it_was(
    busy: BoardKit, tmp_path: Path, version: int
) -> None:
    backup = tmp_path / "old.backup"
    kept = as_it_was(version, str(backup), busy)
    before = backup.read_bytes()
    copied = upkeep.restore(settings_for(str(tmp_path / "new.db"), tmp_path), backup)
    assert copied.source == str(backup)
    assert backup.read_bytes() == before
    restored = open_store(tmp_path / "new.db")
    assert len(restored.connection.execute("SELECT 1 FROM tasks")) == len(kept["tasks"])
    assert len(restored.connection.execute("SELECT 1 FROM events")) == len(kept["events"])
    restored.close()
    assert not list(tmp_path.glob("kumi-restore-*"))


def test_an_older_version_refuses_a_newer_board_and_leaves_it_alone(database: str) -> None:
    kit = BoardKit(database)
    kit.board.store.connection.begin_write()
    kit.board.store.connection.set_schema_version(VERSION + 1)
    kit.board.store.connection.commit()
    with pytest.raises(StoreTooNew):
        open_store(database)
    assert kit.board.store.connection.schema_version() == VERSION + 1
    kit.close()


def test_a_backup_that_is_made_while_others_write_is_one_moment_and_goes_on_from_there(
    database: str, tmp_path: Path
) -> None:
    settings = settings_for(database, tmp_path)
    first = open_board(settings)
    here = Place(first.projects.init(str(tmp_path), git=False).project.id)
    over, writing = threading.Event(), threading.Event()

    def write() -> None:
        board = open_board(settings)
        while not over.is_set():
            parent = board.tasks.create(here, NewTask("parent")).task
            board.tasks.create(here, NewTask("kid", parent=parent.number))
            writing.set()
        board.store.close()

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    assert writing.wait(30)
    try:
        upkeep.backup(settings, tmp_path / "board.backup")
    finally:
        over.set()
        for writer in writers:
            writer.join()
    target = settings_for(str(tmp_path / "restored.db"), tmp_path)
    upkeep.restore(target, tmp_path / "board.backup")
    restored = open_board(target)
    require_same_board(restored.store)
    tasks = restored.store.read(lambda transaction: transaction.tasks.many())
    made = restored.tasks.create(here, NewTask("after the restore")).task
    assert made.number == max(task.number for task in tasks) + 1
    assert first.tasks.create(here, NewTask("the old board goes on")).task.number >= made.number
    for board in (first, restored):
        board.store.close()


def test_a_board_moves_to_a_server_and_back(busy: BoardKit, postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.new_database()
    here = settings_for(str(tmp_path / "busy.db"), tmp_path)
    moved = upkeep.move(here, url)
    back = upkeep.move(settings_for(url, tmp_path), str(tmp_path / "back.db"))
    assert moved.rows == back.rows
    store = open_store(tmp_path / "back.db")
    require_same_board(store)
    store.close()
    postgres.drop(url)
