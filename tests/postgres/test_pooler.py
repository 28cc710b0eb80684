"""Behind PgBouncer, where each transaction may have another server process: everything but notices."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from kumihimo.app import open_board
from kumihimo.domain.errors import StoreCrowded, StoreUnreachable
from kumihimo.services import upkeep
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.settings import Flags, Settings, load
from kumihimo.store import feed as feeds
from kumihimo.store.bell import PollingBell, bell_of
from kumihimo.store.feed import Feed
from kumihimo.store.listening import ListeningBell
from kumihimo.store.store import open_store
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.lead.shop import Shop, until
from tests.postgres.line import Cut, Line
from tests.postgres.pooler import Pooler, needs_pooler
from tests.postgres.test_lost_commits import names
from tests.promises.mixture import Mixture
from tests.promises.replay import require_same_board

pytestmark = needs_pooler
Opened = Callable[[str], BoardKit]
COMES, COMES_NOT = 30.0, 0.15
WRITERS = 4


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kumi-pool-") as made:
        yield Path(made)


@pytest.fixture
def pooler(folder: Path, url: str) -> Iterator[Pooler]:
    made = Pooler(folder, url)
    yield made
    made.stop()


def settings_for(database: str, folder: Path) -> Settings:
    return load(Flags(db=database), {"KUMI_HOME": str(folder / "home")}, folder)


def test_more_writers_than_server_processes_write_one_board_that_replays(
    pooler: Pooler, url: str, tmp_path: Path, opened: Opened
) -> None:
    settings = settings_for(pooler.url(url), tmp_path)
    first = open_board(settings)
    here = Place(first.projects.init(str(tmp_path), git=False).project.id)
    made: list[list[int]] = [[] for _ in range(WRITERS)]

    def write(numbers: list[int]) -> None:
        board = open_board(settings)
        for turn in range(25):
            task = board.tasks.create(here, NewTask(f"work {turn}")).task
            board.tasks.update(here, task.id, title="changed")
            numbers.append(task.number)
        board.store.close()

    writers = [threading.Thread(target=write, args=(numbers,)) for numbers in made]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert sorted(number for numbers in made for number in numbers) == list(range(1, 25 * WRITERS + 1))
    require_same_board(first.store)
    first.store.close()


def test_the_whole_of_a_board_works_and_leaves_nothing_in_a_session(
    pooler: Pooler, url: str, opened: Opened, tmp_path: Path
) -> None:
    kit = opened(pooler.url(url))
    project = kit.board.projects.init(str(tmp_path), git=False).project
    Mixture(kit.board, project.id, 1).run(150)
    require_same_board(kit.board.store)
    assert upkeep.examine(settings_for(pooler.url(url), tmp_path)).problems == []
    with psycopg.connect(pooler.url(url), autocommit=True, prepare_threshold=None) as session:
        for _ in range(4):
            assert session.execute("SELECT name FROM pg_prepared_statements").fetchall() == []
            assert session.execute("SELECT * FROM pg_listening_channels()").fetchall() == []
            assert session.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'").fetchall() == []
            assert session.execute("SHOW idle_in_transaction_session_timeout").fetchall() == [("0",)]


def test_a_bell_behind_a_pooler_asks_since_nothing_would_be_heard(pooler: Pooler, url: str, opened: Opened) -> None:
    kit, other = opened(pooler.url(url)), opened(url)
    with closing(bell_of(kit.board.store)) as bell:
        assert isinstance(bell, PollingBell)
        assert not bell.wait(COMES_NOT)
        other.board.agents.add("news")
        assert bell.wait(COMES)
        assert not bell.wait(COMES_NOT)


def test_a_bell_hears_where_the_url_names_the_server_itself(
    pooler: Pooler, line: Line, url: str, opened: Opened
) -> None:
    kit = opened(pooler.url(url, more=f"&sslmode=disable&listen=127.0.0.1:{line.port}"))
    with closing(bell_of(kit.board.store)) as bell:
        assert isinstance(bell, ListeningBell)
        assert not bell.wait(COMES_NOT)
        kit.board.agents.add("news")
        assert bell.wait(COMES)
        assert not bell.wait(COMES_NOT)


def test_a_bell_that_is_told_to_listen_at_a_pooler_does_not_believe_it(
    pooler: Pooler, url: str, opened: Opened
) -> None:
    kit = opened(pooler.url(url, more=f"&listen=127.0.0.1:{pooler.port}"))
    with closing(bell_of(kit.board.store)) as bell:
        # Deaf: who waits looks for himself.
        assert [bell.wait(COMES) for _ in range(3)] == [True] * 3


def test_a_follower_behind_a_pooler_sees_the_news(
    pooler: Pooler, url: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "_LOOK_AGAIN_SECONDS", COMES)
    kit, other = opened(pooler.url(url)), opened(url)
    with closing(bell_of(kit.board.store)) as bell:
        feed = Feed(kit.board.store, bell, kit.board.store.newest_cursor())
        threading.Timer(0.1, lambda: other.board.agents.add("news")).start()
        assert [event.kind for event in feed.next(COMES)] == ["agent.created"]


@pytest.mark.parametrize("how", ["unsent", "unheard", "swallowed"])
def test_a_commit_that_was_cut_before_the_pooler_is_looked_up_through_it(
    pooler: Pooler, url: str, opened: Opened, how: Cut
) -> None:
    line = Line(("127.0.0.1", pooler.port))
    kit = opened(line.url(url))
    line.cut_next_commit(how)
    if how == "unheard":
        kit.board.agents.add("cut")
    else:
        with pytest.raises(StoreUnreachable):
            kit.board.agents.add("cut")
    assert line.commits_cut == 1
    assert names(kit) == (["cut"] if how == "unheard" else [])
    kit.board.store.close()
    line.close()


def test_a_pooler_that_dies_and_comes_back_needs_nobody_to_restart(pooler: Pooler, url: str, opened: Opened) -> None:
    kit = opened(pooler.url(url))
    with closing(bell_of(kit.board.store)) as bell:
        pooler.kill()
        with pytest.raises(StoreUnreachable):
            kit.board.agents.add("refused")
        bell.wait(0.0)
        pooler.start()
        kit.board.agents.add("after")
        assert bell.wait(COMES)
    assert names(kit) == ["after"]


def test_a_pooler_that_is_full_is_called_full(folder: Path, url: str, opened: Opened) -> None:
    pooler = Pooler(folder, url, max_client_conn=1)
    try:
        kit = opened(pooler.url(url))
        with pytest.raises(StoreCrowded):
            opened(pooler.url(url))
        kit.close()
        until(lambda: _opens(opened, pooler.url(url)))
    finally:
        pooler.stop()


def _opens(opened: Opened, url: str) -> bool:
    try:
        opened(url)
    except StoreCrowded:
        return False
    return True


def test_runs_of_a_host_behind_a_pooler_end_as_they_should(
    folder: Path, postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.new_database()
    pooler = Pooler(folder, url, default_pool_size=4)
    try:
        shop = Shop(tmp_path, pooler.url(url))
        try:
            lead = shop.lead()
            runs = lead.run(lead.group(), *(shop.script().lines(20).say("Done.") for _ in range(4)))
            ended = lead.ended(*runs)
            assert [(run["status"], run["lastAssistantMessage"]) for run in ended] == [("completed", "Done.")] * 4
        finally:
            shop.close()
    finally:
        pooler.stop()
        postgres.drop(url)


def test_a_board_is_moved_and_backed_up_through_a_pooler(
    pooler: Pooler, url: str, tmp_path: Path, opened: Opened
) -> None:
    source = opened(str(tmp_path / "busy.db"))
    project = source.board.projects.init(str(tmp_path), git=False).project
    Mixture(source.board, project.id, 1).run(60)
    upkeep.move(settings_for(str(tmp_path / "busy.db"), tmp_path), pooler.url(url))
    upkeep.backup(settings_for(pooler.url(url), tmp_path), tmp_path / "board.backup")
    for database in (pooler.url(url), str(tmp_path / "board.backup")):
        with closing(open_store(database)) as store:
            require_same_board(store)
