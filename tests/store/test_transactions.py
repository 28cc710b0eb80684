"""Migrations, and the two ways of using a store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store import schema
from kumihimo.store.postgres import PostgresDialect
from kumihimo.store.schema import VERSION, migrate, statements
from kumihimo.store.sqlite import SqliteDialect
from kumihimo.store.store import Transaction, connect, open_store
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.promises.replay import log, require_same_board

OpenKit = Callable[[str | Path], BoardKit]
MIGRATIONS = Path(schema.__file__).parent / "migrations"


def test_the_version_is_the_number_of_the_newest_migration() -> None:
    numbers = sorted(int(path.name[:4]) for path in MIGRATIONS.glob("*.sql"))
    assert numbers == list(range(1, VERSION + 1))


@pytest.mark.parametrize("dialect", [SqliteDialect, PostgresDialect])
def test_no_word_of_a_migration_is_left_untranslated(dialect: type[SqliteDialect | PostgresDialect]) -> None:
    for step in range(1, VERSION + 1):
        assert [text for text in statements(step, dialect.words) if "@" in text] == []


def test_migrating_again_does_nothing(database: str) -> None:
    connection = connect(database)
    assert migrate(connection) == list(range(1, VERSION + 1))
    assert migrate(connection) == []
    connection.close()


def test_a_migration_that_fails_leaves_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(step: int, words: dict[str, str]) -> list[str]:
        return [*statements(step, words), "CREATE TABLE nonsense nonsense"]

    monkeypatch.setattr(schema, "statements", broken)
    with pytest.raises(Exception, match="nonsense"):
        open_store(database)
    monkeypatch.undo()
    kit = BoardKit(database)
    kit.board.projects.init("/srv/shop", git=False)
    kit.close()


def test_both_databases_have_the_same_columns(tmp_path: Path, postgres: PostgresServer) -> None:
    from kumihimo.store.copying import TABLES

    url = postgres.new_database()
    one, two = open_store(tmp_path / "kumi.db"), open_store(url)
    assert {t: one.connection.columns(t) for t in TABLES} == {t: two.connection.columns(t) for t in TABLES}
    one.close()
    two.close()
    postgres.drop(url)


def test_every_table_is_copied(tmp_path: Path) -> None:
    from kumihimo.store.copying import TABLES

    store = open_store(tmp_path / "kumi.db")
    tables = store.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    store.close()
    # What is said of the schema itself is written by whoever makes it.
    assert {name for (name,) in tables} - {"kumihimo_schema"} == set(TABLES)


def test_a_command_that_fails_half_way_leaves_nothing_and_the_store_works(kit: BoardKit) -> None:
    project = kit.board.projects.init("/srv/shop", git=False).project

    def half(transaction: Transaction) -> None:
        kit.board.tasks.create(Place(project.id), NewTask("half"))
        raise RuntimeError("in the middle")

    before = log(kit.board.store)
    with pytest.raises(RuntimeError, match="middle"):
        kit.board.store.write(half)
    assert log(kit.board.store) == before
    assert kit.board.tasks.create(Place(project.id), NewTask("whole")).task.number == 1
    require_same_board(kit.board.store)


def test_a_command_inside_a_command_is_one_transaction(kit: BoardKit, open_kit: OpenKit) -> None:
    project = kit.board.projects.init("/srv/shop", git=False).project
    other = open_kit(kit.database)

    def both(transaction: Transaction) -> int:
        for title in ("one", "two"):
            kit.board.tasks.create(Place(project.id), NewTask(title))
        return len(other.board.tasks.list(Place(project.id)).items)

    assert kit.board.store.write(both) == 0
    assert len(other.board.tasks.list(Place(project.id)).items) == 2


def test_a_command_inside_a_read_is_our_mistake_and_is_refused(kit: BoardKit) -> None:
    with pytest.raises(RuntimeError, match="inside a read"):
        kit.board.store.read(lambda _: kit.board.projects.init("/srv/shop", git=False))
    assert kit.board.projects.list() == []


def test_a_read_sees_one_snapshot(kit: BoardKit, open_kit: OpenKit) -> None:
    project = kit.board.projects.init("/srv/shop", git=False).project
    other = open_kit(kit.database)

    def look_twice(transaction: Transaction) -> list[int]:
        first = len(transaction.tasks.many())
        other.board.tasks.create(Place(project.id), NewTask("meanwhile"))
        return [first, len(transaction.tasks.many())]

    assert kit.board.store.read(look_twice) == [0, 0]
    assert len(kit.board.tasks.list(Place(project.id)).items) == 1


def test_a_command_that_loses_a_deadlock_is_done_again(postgres: PostgresServer) -> None:
    """Two that lock the same two rows the other way round: PostgreSQL ends one of them, and we do it again."""
    url = postgres.new_database()
    kit = BoardKit(url)
    ids = [kit.board.projects.add(name, f"/srv/{name}").id for name in ("one", "two")]
    meeting = threading.Barrier(2, timeout=30)
    tries: list[str] = []

    def lock_both(name: str, order: list[str]) -> None:
        store = open_store(url)

        def command(transaction: Transaction) -> None:
            tries.append(name)
            first = transaction.projects.lock(order[0])
            if tries.count(name) == 1:
                meeting.wait()
            second = transaction.projects.lock(order[1])
            assert first is not None
            assert second is not None
            transaction.projects.save(first.move("pause" if first.status == "active" else "resume", kit.clock()))

        store.write(command)
        store.close()

    threads = [
        threading.Thread(target=lock_both, args=("a", ids)),
        threading.Thread(target=lock_both, args=("b", ids[::-1])),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted({*tries}) == ["a", "b"]
    # One of the two was done again; who is unlucky, more than once.
    assert len(tries) >= 3
    assert {project.status for project in kit.board.projects.list()} == {"paused"}
    require_same_board(kit.board.store)
    kit.close()
    postgres.drop(url)


def test_look_ups_that_came_together_share_a_snapshot_and_see_what_is_written_among_them(
    kit: BoardKit, database: str
) -> None:
    other = open_store(database)
    kit.board.projects.add("first", "/first")
    with kit.board.store.lingering():
        assert kit.board.projects.show("first").status == "active"
        other.write(
            lambda transaction: transaction.projects.save(transaction.projects.all()[0].move("pause", kit.clock()))
        )
        assert kit.board.projects.show("first").status == "active"
        kit.board.projects.add("second", "/second")
        assert kit.board.projects.show("first").status == "paused"
        assert kit.board.projects.show("second").status == "active"
    other.write(
        lambda transaction: transaction.projects.save(transaction.projects.all()[0].move("resume", kit.clock()))
    )
    assert kit.board.projects.show("first").status == "active"
    other.close()
