"""A role that owns a database, or only a schema in somebody else's, and may do nothing else: all of Kumihimo works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from kumihimo.domain.errors import StoreNotWritable, StoreUnreachable
from kumihimo.services import upkeep
from kumihimo.settings import Flags, Settings, load
from kumihimo.store.bell import bell_of
from kumihimo.store.store import open_store
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.lead.shop import Shop
from tests.postgres.line import Cut, Line, socket_of
from tests.postgres.test_lost_commits import names
from tests.promises.mixture import Mixture
from tests.promises.replay import require_same_board

Opened = Callable[[str], BoardKit]


@pytest.fixture
def corner(postgres: PostgresServer, role: str) -> Iterator[str]:
    """A schema of that role in a database of others, who have a table of the same name as one of ours."""
    shared = postgres.new_database()
    with psycopg.connect(shared, autocommit=True) as master:
        master.execute(sql.SQL("CREATE SCHEMA {0} AUTHORIZATION {0}").format(sql.Identifier(role)))
        master.execute("CREATE TABLE public.tasks (theirs TEXT)")
    yield shared.replace("//postgres:", f"//{role}:")
    postgres.drop(shared)


@pytest.fixture(params=["owned", "corner"])
def place(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(request.param)


def settings_for(database: str, folder: Path) -> Settings:
    return load(Flags(db=database), {"KUMI_HOME": str(folder / "home")}, folder)


def busy(kit: BoardKit, folder: Path) -> BoardKit:
    project = kit.board.projects.init(str(folder), git=False).project
    Mixture(kit.board, project.id, 1).run(100)
    return kit


def test_a_board_works_and_is_checked_backed_up_restored_and_moved(place: str, tmp_path: Path, opened: Opened) -> None:
    kit = busy(opened(str(tmp_path / "busy.db")), tmp_path)
    moved = upkeep.move(settings_for(kit.database, tmp_path), place)  # type: ignore[arg-type]
    assert upkeep.bring_up_to_date(settings_for(place, tmp_path)).applied == []
    assert upkeep.examine(settings_for(place, tmp_path)).problems == []
    kept = upkeep.backup(settings_for(place, tmp_path), tmp_path / "board.backup")
    assert moved.rows == kept.rows > 100
    upkeep.restore(settings_for(str(tmp_path / "back.db"), tmp_path), tmp_path / "board.backup")
    for database in (place, str(tmp_path / "back.db")):
        with closing(open_store(database)) as store:
            require_same_board(store)


def test_a_board_is_restored_from_a_backup_and_goes_on(place: str, tmp_path: Path, opened: Opened) -> None:
    kit = busy(opened(str(tmp_path / "busy.db")), tmp_path)
    upkeep.backup(settings_for(str(kit.database), tmp_path), tmp_path / "board.backup")
    upkeep.restore(settings_for(place, tmp_path), tmp_path / "board.backup")
    restored = opened(place)
    require_same_board(restored.board.store)
    with closing(bell_of(restored.board.store)) as bell:
        restored.board.agents.add("after")
        assert bell.wait(30.0)
    assert restored.board.store.events_after(None, 10_000)[-1].kind == "agent.created"


@pytest.mark.parametrize("how", ["unheard", "swallowed"])
def test_what_became_of_a_commit_is_found_out(place: str, role: str, opened: Opened, how: Cut) -> None:
    """To end a server process that waits for ever takes no more than to be the same role."""
    line = Line(socket_of(place))
    kit = opened(line.url(place, user=role))
    line.cut_next_commit(how)
    if how == "unheard":
        kit.board.agents.add("cut")
    else:
        with pytest.raises(StoreUnreachable):
            kit.board.agents.add("cut")
    assert names(kit) == (["cut"] if how == "unheard" else [])
    kit.board.store.close()
    line.close()


def test_runs_of_a_host_end_as_they_should(place: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path, place)
    try:
        lead = shop.lead()
        ended = lead.ended(*lead.run(lead.group(), *(shop.script().say("Done.") for _ in range(2))))
        assert {run["status"] for run in ended} == {"completed"}
        assert shop.kumi("db", "check")["problems"] == []
    finally:
        shop.close()


def test_somebody_elses_table_in_another_schema_is_left_alone(
    corner: str, postgres: PostgresServer, opened: Opened
) -> None:
    opened(corner).board.agents.add("ours")
    with psycopg.connect(
        postgres.url.replace("/postgres?", f"/{corner.partition('?')[0].rpartition('/')[2]}?")
    ) as master:
        assert master.execute("SELECT * FROM public.tasks").fetchall() == []
        made = master.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert made == (1,)


def test_a_role_that_may_write_nowhere_is_told_so(postgres: PostgresServer, url: str, role: str) -> None:
    with pytest.raises(StoreNotWritable, match="permission denied"):
        open_store(url.replace("//postgres:", f"//{role}:"))
