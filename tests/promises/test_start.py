"""Starting: any number at once on an empty database, and a refusal that says what to do where it can't be used."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import psycopg
import pytest

from kumihimo.domain.errors import (
    LibraryTooOld,
    StoreDamaged,
    StoreError,
    StoreNotOurs,
    StoreNotWritable,
    StoreTooNew,
    StoreUnreachable,
)
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.schema import VERSION
from kumihimo.store.sqlite import APPLICATION_ID, require_library
from kumihimo.store.store import connect, open_store
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer

from .crew import Crew
from .replay import require_same_board

OpenKit = Callable[[str | Path], BoardKit]


@pytest.mark.parametrize("count", [4, 8])
def test_all_that_open_an_empty_database_at_once_work(
    eight: Crew, database: str, count: int, open_kit: OpenKit
) -> None:
    eight.together([{"verb": "open", "database": database, "actor": f"w{n}"} for n in range(count)])
    answers = eight.together([{"verb": "init", "folder": "/srv/shop"}])
    answers += eight.together([{"verb": "add_task", "project": answers[0][0]} for _ in range(count)])
    kit = open_kit(database)
    assert sorted(answers[1:]) == list(range(1, count + 1))
    assert migrations(kit) == [VERSION]
    assert kit.board.store.connection.check() == []
    require_same_board(kit.board.store)


def migrations(kit: BoardKit) -> list[int]:
    """The versions that the database says it has; a migration that ran twice would have failed, or be here twice."""
    connection = kit.board.store.connection
    if connection.dialect.name == "sqlite":
        return [connection.schema_version()]
    return [row[0] for row in connection.execute("SELECT version FROM kumihimo_schema")]


@pytest.mark.slow
def test_many_rounds_of_eight_starters_on_an_empty_file_all_work(eight: Crew, tmp_path: Path) -> None:
    for round_ in range(25):
        file = str(tmp_path / f"{round_}.db")
        answers = eight.together([{"verb": "open", "database": file, "actor": f"w{n}"} for n in range(8)])
        assert answers == [f"w{n}" for n in range(8)]
    connection = connect(file)
    assert connection.schema_version() == VERSION
    connection.close()


def test_opening_and_closing_at_once_disturbs_nobody(eight: Crew, tmp_path: Path, open_kit: OpenKit) -> None:
    """The last one that closes a SQLite file removes its log while the next one opens it."""
    file = str(tmp_path / "kumi.db")
    for _ in range(25):
        eight.together([{"verb": "open_and_close", "database": file}] * 8)
    kit = open_kit(file)
    assert kit.board.store.connection.check() == []


# --- refusals ---------------------------------------------------------------------------------------------------


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file of a folder by its bytes. What SQLite keeps beside a file only while it is open is not counted."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


def refused(database: str | Path, error: type[StoreError]) -> str:
    with pytest.raises(error) as caught:
        open_store(database)
    assert type(caught.value) is error
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [b"hello, this is a letter\n", b"x", b"\x00" * 4096, b"SQLite format 3", b"\x89PNG\r\n\x1a\n" + b"\0" * 5000],
    ids=["text", "one byte", "zeros", "half a header", "picture"],
)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "kumi.db"
    file.write_bytes(content)
    before = fingerprint(tmp_path)
    message = refused(file, StoreNotOurs)
    assert "--db" in message
    assert str(file) in message
    assert fingerprint(tmp_path) == before


def test_a_header_with_rubbish_behind_it_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "kumi.db"
    file.write_bytes(b"SQLite format 3\0" + b"rubbish " * 1000)
    before = fingerprint(tmp_path)
    with pytest.raises((StoreNotOurs, StoreDamaged)) as caught:
        open_store(file)
    assert "--db" in str(caught.value) or "kumi db" in str(caught.value)
    assert fingerprint(tmp_path) == before


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path, mode: str) -> None:
    file = tmp_path / "notes.db"
    other = sqlite3.connect(file)
    other.execute(f"PRAGMA journal_mode = {mode}")
    other.execute("CREATE TABLE tasks (title TEXT)")
    other.execute("INSERT INTO tasks VALUES ('theirs')")
    other.commit()
    other.close()
    before = fingerprint(tmp_path)
    assert "left as it is" in refused(file, StoreNotOurs)
    assert fingerprint(tmp_path) == before


def test_a_database_of_another_program_that_is_open_elsewhere_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes.db"
    other = sqlite3.connect(file)
    other.execute("PRAGMA journal_mode = wal")
    other.execute("CREATE TABLE tasks (title TEXT)")
    other.commit()
    before = fingerprint(tmp_path)
    refused(file, StoreNotOurs)
    assert fingerprint(tmp_path) == before
    other.execute("INSERT INTO tasks VALUES ('theirs')")
    other.commit()
    other.close()


def test_a_board_of_a_newer_version_is_refused_and_left_as_it_is(database: str, tmp_path: Path) -> None:
    store = open_store(database)
    store.connection.begin_write()
    store.connection.set_schema_version(VERSION + 7)
    store.connection.commit()
    store.close()
    before = fingerprint(tmp_path)
    message = refused(database, StoreTooNew)
    assert "Upgrade" in message
    assert str(VERSION + 7) in message
    assert fingerprint(tmp_path) == before


def test_a_damaged_board_is_named_as_such(tmp_path: Path, open_kit: OpenKit) -> None:
    file = tmp_path / "kumi.db"
    kit = open_kit(file)
    kit.board.projects.init("/srv/shop", git=False)
    kit.board.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kit.close()
    content = bytearray(file.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(StoreDamaged) as caught:
        open_kit(file).board.projects.init("/srv/other", git=False)
    assert "restore" in str(caught.value)


PLACES = ["/proc/kumihimo/kumi.db", "/proc/version/kumi.db", "/dev/null/kumi.db"]


@pytest.mark.parametrize("place", PLACES)
def test_a_folder_that_can_not_be_written_is_refused(place: str) -> None:
    message = refused(place, StoreNotWritable)
    assert "permissions" in message
    assert "--db" in message


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    before = fingerprint(tmp_path)
    refused(tmp_path / "file" / "kumi.db", StoreNotWritable)
    assert fingerprint(tmp_path) == before


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, StoreNotWritable)


@pytest.mark.parametrize("found", ["3.40.1", "3.51.2", "3.7.17", "2.8.0"])
def test_a_library_that_can_lose_commits_is_refused(found: str) -> None:
    with pytest.raises(LibraryTooOld) as caught:
        require_library(found, "kumi.db")
    assert "pip install --upgrade apsw" in str(caught.value)
    assert found in str(caught.value)


@pytest.mark.parametrize("found", ["3.51.3", "3.52.0", "4.0.0", apsw.sqlite_lib_version()])
def test_a_library_that_keeps_commits_is_taken(found: str) -> None:
    require_library(found, "kumi.db")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://nobody:secret@127.0.0.1:1/kumi",
        "postgresql://nobody:secret@/kumi?host=/nowhere",
        "postgresql://nobody:secret@/kumi?no_such_option=1",
    ],
)
def test_a_postgres_that_is_not_there_is_named_without_its_password(url: str) -> None:
    message = refused(url, StoreUnreachable)
    assert "Check that it runs" in message
    assert "secret" not in message


TABLES = ("projects", "tasks", "events", "agents", "sessions", "meta", "executions", "handoffs")


@pytest.mark.parametrize("table", TABLES)
def test_a_postgres_database_with_somebody_elses_tables_is_refused_and_left_as_it_is(
    postgres: PostgresServer, table: str
) -> None:
    url = postgres.new_database()
    with psycopg.connect(url, autocommit=True) as theirs:
        theirs.execute(f"CREATE TABLE {table} (title TEXT)".encode())
        theirs.execute(f"INSERT INTO {table} VALUES ('theirs')".encode())
        message = refused(url, StoreNotOurs)
        assert "left as it is" in message
        assert theirs.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall() == [(table,)]
        assert theirs.execute(f"SELECT * FROM {table}".encode()).fetchall() == [("theirs",)]
    postgres.drop(url)


# --- a full disk ------------------------------------------------------------------------------------------------


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    place = tmp_path / "tiny"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill_with_tasks(kit: BoardKit, place: Place, most: int = 5_000) -> int:
    """Tasks until there is no room; answers how many were acknowledged."""
    for count in range(most):
        try:
            kit.board.tasks.create(place, NewTask(f"task {count}", description="x" * 4_000))
        except StoreNotWritable:
            return count
    raise AssertionError("the disk never filled up")


def require_whole(kit: BoardKit, place: Place, count: int) -> None:
    numbers = [task.number for task in kit.board.store.read(lambda t: t.tasks.many("ORDER BY number"))]
    assert numbers == list(range(1, count + 1))
    require_same_board(kit.board.store)
    assert kit.board.store.connection.check() == []


def test_a_full_disk_refuses_the_command_whole_and_is_forgotten_when_there_is_room(
    tiny_disk: Path, open_kit: OpenKit
) -> None:
    kit = open_kit(tiny_disk / "kumi.db")
    place = Place(kit.board.projects.init("/srv/shop", git=False).project.id)
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(b"\0" * 500_000)
    count = fill_with_tasks(kit, place)
    require_whole(kit, place, count)
    ballast.unlink()
    assert kit.board.tasks.create(place, NewTask("there is room again")).task.number == count + 1
    require_whole(kit, place, count + 1)


def test_a_file_that_may_not_grow_refuses_the_command_whole_and_works_when_it_may(
    tmp_path: Path, open_kit: OpenKit
) -> None:
    kit = open_kit(tmp_path / "kumi.db")
    place = Place(kit.board.projects.init("/srv/shop", git=False).project.id)
    kit.board.store.connection.execute("PRAGMA max_page_count = 120")
    count = fill_with_tasks(kit, place)
    require_whole(kit, place, count)
    kit.board.store.connection.execute("PRAGMA max_page_count = 1000000")
    assert kit.board.tasks.create(place, NewTask("there is room again")).task.number == count + 1


def test_a_full_disk_at_the_start_is_refused(tiny_disk: Path) -> None:
    ballast = tiny_disk / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(b"\0" * 4_000_000)
    assert "free space" in refused(tiny_disk / "kumi.db", StoreNotWritable)
    ballast.unlink()
    open_store(tiny_disk / "kumi.db").close()


def test_a_command_that_was_committed_is_not_refused_because_the_bell_can_not_be_rung(
    tmp_path: Path, open_kit: OpenKit
) -> None:
    """What is said to have failed is done again, and would be there twice."""
    file = tmp_path / "kumi.db"
    (tmp_path / "kumi.db.bell").mkdir()
    kit = open_kit(file)
    kit.board.projects.init("/srv/shop", git=False)


def test_a_read_only_file_system_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "locked"
    place.mkdir()
    open_store(place / "kumi.db").close()
    mounted = subprocess.run(["mount", "--bind", "-o", "ro", str(place), str(place)], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        refused(place / "kumi.db", StoreNotWritable)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_the_file_of_a_board_is_for_its_owner_alone(tmp_path: Path, open_kit: OpenKit) -> None:
    file = tmp_path / "new" / "folder" / "kumi.db"
    kit = open_kit(file)
    kit.board.projects.init("/srv/shop", git=False)
    modes = {path.name: path.stat().st_mode & 0o077 for path in file.parent.iterdir()}
    kit.close()
    assert set(modes.values()) == {0}
    assert APPLICATION_ID.to_bytes(4, "big") == b"KUMI"
    assert sys.platform != "linux" or "kumi.db.bell" in modes
