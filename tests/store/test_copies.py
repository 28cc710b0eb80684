"""Copies between any two databases: the same board, whole or not at all, and numbers that go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kumihimo.domain.errors import StoreNotEmpty, StoreNotWritable
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.copying import TABLES, copy_board
from kumihimo.store.store import Store
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.promises.mixture import Mixture
from tests.promises.replay import differences, log, require_same_board, rows

# What the source has something of; the rest is copied all the same.
FILLED = (
    "projects", "agents", "passkeys", "project_agents", "tasks", "task_dependencies", "context_entries", "handoffs",
    "memories", "sessions", "run_groups", "executions", "events",
)  # fmt: skip
OpenKit = Callable[[str | Path], BoardKit]


@pytest.fixture
def source(kit: BoardKit) -> BoardKit:
    """A board with something of everything, on each database in turn."""
    made = kit.board.projects.init("/srv/shop", git=False)
    keyed = kit.board.agents.add("solo")
    kit.board.projects.assign(made.project.id, keyed.agent)
    kit.board.sessions.open(keyed.agent.id, made.project.id)
    kit.board.groups.create("together", project_id=made.project.id)
    Mixture(kit.board, made.project.id, 1).run(150)
    # More rows than one batch, and a subtask with a smaller id than its parent.
    kit.board.store.write(
        lambda _: [kit.board.tasks.create(Place(made.project.id), NewTask(f"many {n}")) for n in range(600)]
    )
    tasks = kit.board.tasks.list(Place(made.project.id), limit=2).items
    kit.board.tasks.update(Place(made.project.id), tasks[1].task.id, parent=tasks[0].task.id)
    return kit


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "copy.db")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_database()
    yield url
    server.drop(url)


def everything(store: Store) -> dict[str, list[object]]:
    """Every cell of every table, also those that no value shows."""
    connection = store.connection
    found: dict[str, list[object]] = {}
    for table in TABLES:
        columns = sorted(connection.columns(table))
        cells = connection.execute(f"SELECT {', '.join(columns)} FROM {table}")
        found[table] = sorted((tuple(row) for row in cells), key=repr)
    return found


def test_a_copy_is_the_same_board_and_its_numbers_go_on(source: BoardKit, target: str, open_kit: OpenKit) -> None:
    other = open_kit(target)
    counts = copy_board(source.board.store, other.board.store)
    assert everything(other.board.store) == everything(source.board.store)
    assert counts == {table: len(cells) for table, cells in everything(source.board.store).items()}
    assert [table for table in FILLED if not counts[table]] == []
    assert differences(rows(source.board.store), rows(other.board.store)) == []
    assert [event.cursor for event in log(other.board.store)] == [event.cursor for event in log(source.board.store)]
    assert other.board.store.connection.check() == []
    require_numbers_go_on(source, other)


def require_numbers_go_on(source: BoardKit, other: BoardKit) -> None:
    project = source.board.projects.list()[0]
    here, cursor = Place(project.id), other.board.store.newest_cursor()
    greatest = max(view.task.number for view in source.board.tasks.list(here).items)
    Mixture(other.board, project.id, 2).create()
    newest = other.board.tasks.list(here, limit=1).items[0].task
    assert newest.number == greatest + 1
    other.board.contexts.save(here, newest.id, progress="after the copy")
    other.board.handoffs.create(here, newest.id, from_agent="coder", summary="after the copy")
    assert [int(event.cursor) - int(cursor) for event in log(other.board.store, cursor)] == [1, 2, 3]
    require_same_board(other.board.store)


def test_a_board_that_holds_something_is_not_copied_over(source: BoardKit, target: str, open_kit: OpenKit) -> None:
    other = open_kit(target)
    other.board.projects.init("/srv/other", git=False)
    before = everything(other.board.store)
    with pytest.raises(StoreNotEmpty):
        copy_board(source.board.store, other.board.store)
    assert everything(other.board.store) == before
    # Neither side is left in a transaction.
    other.board.projects.add("more", "/srv/more")
    source.board.projects.add("more", "/srv/more")


def test_a_copy_that_finds_no_room_leaves_nothing_and_says_so(
    source: BoardKit, tmp_path: Path, open_kit: OpenKit
) -> None:
    other = open_kit(tmp_path / "small.db").board.store
    other.connection.execute("PRAGMA max_page_count = 80")
    with pytest.raises(StoreNotWritable):
        copy_board(source.board.store, other)
    assert all(cells == [] for cells in everything(other).values())


def test_a_copy_is_one_snapshot_while_the_source_is_written(kit: BoardKit, tmp_path: Path, open_kit: OpenKit) -> None:
    """Whoever writes in the middle of the copy is either wholly in it or not at all."""
    project = kit.board.projects.init("/srv/shop", git=False).project
    writer = open_kit(kit.database)
    target = open_kit(tmp_path / "copy.db").board.store
    execute = target.connection.execute

    def write_between(sql: str, values: object = ()) -> object:
        if sql.startswith("INSERT INTO projects"):
            writer.board.tasks.create(Place(project.id), NewTask("meanwhile"))
        return execute(sql, values)  # type: ignore[arg-type]

    target.connection.execute = write_between  # type: ignore[method-assign]
    copy_board(kit.board.store, target)
    target.connection.execute = execute  # type: ignore[method-assign]
    assert rows(target).get("task", {}) == {}
    require_same_board(target)
    assert len(rows(kit.board.store)["task"]) == 1


def fill(kit: BoardKit) -> Store:
    """Something in every column of every table, also in those that were added yesterday."""
    store = kit.board.store
    project = kit.board.projects.init("/srv/shop", git=False).project.id
    keyed = kit.board.agents.add("solo")
    kit.board.projects.assign(project, keyed.agent)
    kit.board.sessions.open(keyed.agent.id, project)
    kit.board.groups.create("together", project_id=project)
    Mixture(kit.board, project, 1).run(150)
    connection = store.connection
    for table in TABLES:
        new = _cells(store, table)
        if not connection.execute(f"SELECT 1 FROM {table}"):
            marks = ", ".join("?" * len(new))
            connection.execute(f"INSERT INTO {table} ({', '.join(new)}) VALUES ({marks})", tuple(new.values()))
        for column in empty_columns(store, table):
            # One row is enough: some of them may have a value once only.
            row = f"(SELECT min(rowid) FROM {table})"
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = {row}", (new[column],))
    return store


def _cells(store: Store, table: str) -> dict[str, object]:
    """A value for every column: where it points to something, something that is there."""
    ask = store.connection.execute
    kinds = {row[1]: row[2] for row in ask(f"PRAGMA table_info({table})")}
    cells: dict[str, object] = {name: 7 if kind != "TEXT" else f"{name} of {table}" for name, kind in kinds.items()}
    for link in ask(f"PRAGMA foreign_key_list({table})"):
        cells[link[3]] = ask(f"SELECT {link[4]} FROM {link[2]} LIMIT 1")[0][0]
    return cells


def empty_columns(store: Store, table: str) -> list[str]:
    connection = store.connection
    return [
        column
        for column in connection.columns(table)
        if not connection.execute(f"SELECT 1 FROM {table} WHERE {column} IS NOT NULL LIMIT 1")
    ]


def test_every_column_of_every_table_travels_there_and_back(tmp_path: Path, target: str, open_kit: OpenKit) -> None:
    """Hosts too: what ran where is told by their names. Their leases run out by themselves."""
    source = fill(open_kit(tmp_path / "source.db"))
    assert [(table, empty_columns(source, table)) for table in TABLES if empty_columns(source, table)] == []
    assert source.connection.check() == []
    there, back = open_kit(target).board.store, open_kit(tmp_path / "back.db").board.store
    copy_board(source, there)
    copy_board(there, back)
    assert everything(there) == everything(source)
    assert everything(back) == everything(source)
