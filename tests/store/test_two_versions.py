"""Two versions on one board during an upgrade: the older one works on with a newer schema that says it can."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from kumihimo.domain.errors import StoreTooNew
from kumihimo.services import upkeep
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.settings import Flags, Settings, load
from kumihimo.store import copying, schema, store
from kumihimo.store.schema import VERSION, oldest_after
from kumihimo.store.store import open_store
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.lead.shop import until
from tests.promises.mixture import Mixture
from tests.promises.replay import require_same_board

NEXT = """-- The next version.
{oldest}
ALTER TABLE tasks ADD COLUMN colour TEXT;
ALTER TABLE executions ADD COLUMN weight BIGINT NOT NULL DEFAULT 1;
CREATE TABLE colours (
    id @id@ PRIMARY KEY,
    name TEXT NOT NULL
);
CREATE INDEX tasks_by_colour ON tasks (colour) WHERE colour IS NOT NULL;
"""
AFTER_NEXT = """-- And the one after it.
{oldest}
ALTER TABLE agents ADD COLUMN colour TEXT;
"""


class Upgrades:
    """What later versions bring along."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder / "migrations"
        self._monkeypatch = monkeypatch
        shutil.copytree(schema._FOLDER, self._folder)

    def add(self, number: int, text: str, oldest: int | None) -> None:
        line = "" if oldest is None else f"-- oldest: {oldest}"
        (self._folder / f"{number:04d}_later.sql").write_text(text.format(oldest=line))

    @contextmanager
    def of(self, version: int) -> Iterator[None]:
        """In here we are that version."""
        with self._monkeypatch.context() as patch:
            patch.setattr(schema, "_FOLDER", self._folder)
            for module in (schema, store, copying, upkeep):
                patch.setattr(module, "VERSION", version)
            yield


@pytest.fixture
def upgrades(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Upgrades:
    return Upgrades(tmp_path, monkeypatch)


def settings_for(database: str, folder: Path) -> Settings:
    return load(Flags(db=database), {"KUMI_HOME": str(folder / "home")}, folder)


def test_an_older_version_works_on_and_is_opened_anew_under_a_schema_that_it_survives(
    database: str, upgrades: Upgrades, tmp_path: Path
) -> None:
    upgrades.add(VERSION + 1, NEXT, VERSION)
    before = BoardKit(database)
    project = before.board.projects.init(str(tmp_path), git=False).project.id
    assert Mixture(before.board, project, 1).run(60) > 20
    with upgrades.of(VERSION + 1):
        newer = open_store(database)
    assert newer.connection.schema_version() == VERSION + 1
    newer.connection.execute("UPDATE tasks SET colour = 'red'")
    assert Mixture(before.board, project, 2).run(60) > 20
    after = BoardKit(database)
    after.board.tasks.identifiers._random_bytes._count = 10**6  # type: ignore[attr-defined]
    assert Mixture(after.board, project, 3).run(60) > 20
    require_same_board(after.board.store)
    assert after.board.store.connection.check() == []
    # What the older one knows nothing of stays as it is.
    assert newer.connection.execute("SELECT count(*) FROM tasks WHERE colour = 'red'")[0][0] > 0
    assert newer.connection.execute("SELECT DISTINCT weight FROM executions") == [(1,)]
    assert newer.connection.schema_version() == VERSION + 1
    newer.close()
    for kit in (before, after):
        kit.close()


def test_a_schema_that_an_older_version_does_not_survive_is_refused(database: str, upgrades: Upgrades) -> None:
    upgrades.add(VERSION + 1, NEXT, None)
    with upgrades.of(VERSION + 1):
        open_store(database).close()
    with pytest.raises(StoreTooNew):
        open_store(database)


def test_an_older_version_that_was_open_is_told_when_the_schema_is_no_longer_for_it(
    database: str, upgrades: Upgrades, tmp_path: Path
) -> None:
    upgrades.add(VERSION + 1, "ALTER TABLE tasks RENAME COLUMN title TO name;\n", None)
    kit = BoardKit(database)
    here = Place(kit.board.projects.init(str(tmp_path), git=False).project.id)
    with upgrades.of(VERSION + 1):
        open_store(database).close()
    with pytest.raises(StoreTooNew):
        kit.board.tasks.create(here, NewTask("work"))
    with pytest.raises(StoreTooNew):
        kit.board.tasks.list(here)
    # What has nothing to do with it still works.
    kit.board.memories.add(here, "note", category="rules", title="note")
    kit.close()


@pytest.mark.parametrize(("first", "second", "opens"), [(0, 0, True), (1, 0, False), (0, 1, False), (0, 2, False)])
def test_of_several_steps_the_most_demanding_counts(
    database: str, upgrades: Upgrades, first: int, second: int, opens: bool
) -> None:
    """Whether they are taken at once or one after the other."""
    upgrades.add(VERSION + 1, NEXT, VERSION + first)
    upgrades.add(VERSION + 2, AFTER_NEXT, VERSION + second)
    if first == second == 0:
        with upgrades.of(VERSION + 1):
            open_store(database).close()
    with upgrades.of(VERSION + 2):
        open_store(database).close()
    if opens:
        open_store(database).close()
        return
    with pytest.raises(StoreTooNew):
        open_store(database)


def test_an_older_version_makes_no_copy_of_what_it_does_not_know(
    database: str, upgrades: Upgrades, tmp_path: Path
) -> None:
    upgrades.add(VERSION + 1, NEXT, VERSION)
    with upgrades.of(VERSION + 1):
        open_store(database).close()
        upkeep.backup(settings_for(database, tmp_path), tmp_path / "newer.backup")
    with pytest.raises(StoreTooNew):
        upkeep.backup(settings_for(database, tmp_path), tmp_path / "older.backup")
    with pytest.raises(StoreTooNew):
        upkeep.restore(settings_for(str(tmp_path / "restored.db"), tmp_path), tmp_path / "newer.backup")


def test_a_board_of_today_is_raised_to_a_later_version_with_what_it_says(database: str, upgrades: Upgrades) -> None:
    """Also one whose database was made before anything was said about older versions."""
    kit = BoardKit(database)
    if kit.board.store.connection.dialect.name == "postgres":
        kit.board.store.connection.execute("ALTER TABLE kumihimo_schema DROP COLUMN oldest")
    else:
        kit.board.store.connection.execute("DROP TABLE IF EXISTS kumihimo_schema")
    assert kit.board.store.connection.schema_oldest() == VERSION
    kit.close()
    upgrades.add(VERSION + 1, NEXT, VERSION)
    with upgrades.of(VERSION + 1):
        opened = open_store(database)
    assert (opened.connection.schema_version(), opened.connection.schema_oldest()) == (VERSION + 1, VERSION)
    opened.close()


def test_no_step_asks_for_a_version_that_comes_after_it() -> None:
    assert [step for step in range(1, VERSION + 1) if oldest_after(step) > step] == []


def test_a_step_that_waits_for_a_long_reader_lets_the_others_work(
    postgres: PostgresServer, upgrades: Upgrades, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup reads for minutes. Who changes a table waits for it, and nobody may wait for the two of them."""
    from kumihimo.store import postgres as module

    monkeypatch.setattr(module, "_MIGRATION_PATIENCE", "100ms")
    monkeypatch.setattr(schema, "_PAUSE_SECONDS", 0.1)
    url = postgres.new_database()
    upgrades.add(VERSION + 1, NEXT, VERSION)
    kit = BoardKit(url)
    here = Place(kit.board.projects.init("/srv/shop", git=False).project.id)
    reader = psycopg.connect(url)
    reader.execute("SELECT count(*) FROM tasks")
    raised = threading.Event()

    def raise_schema() -> None:
        open_store(url).close()
        raised.set()

    with upgrades.of(VERSION + 1):
        raising = threading.Thread(target=raise_schema)
        raising.start()
        with psycopg.connect(url, autocommit=True) as asking:
            until(lambda: asking.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchall())
        for turn in range(5):
            kit.board.tasks.create(here, NewTask(f"meanwhile {turn}"))
        assert not raised.is_set()
        reader.close()
        raising.join(60)
    assert raised.is_set()
    kit.close()
    postgres.drop(url)
