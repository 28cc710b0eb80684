"""The bell rings for what another process commits, and for nothing else."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish
from kumihimo.store import bell as bells
from kumihimo.store.bell import Bell, InotifyBell, ListeningBell, PollingBell, bell_of
from kumihimo.store.store import Store, open_store
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.promises.crew import Child

# For what must come: a bound. For what must not come: long enough that a wrong ring would have been heard.
COMES, COMES_NOT = 30.0, 0.15


@pytest.fixture
def project(kit: BoardKit) -> str:
    return kit.board.projects.init("/srv/shop", git=False).project.id


@pytest.fixture
def other(database: str, project: str) -> Iterator[Child]:
    """Another process with the board open."""
    child = Child()
    assert child.answer() == "ready"
    child.send({"verb": "open", "database": database, "actor": "other"})
    assert child.answer() == "other"
    yield child
    child.close()


@pytest.fixture
def listener(database: str, project: str) -> Iterator[Store]:
    store = open_store(database)
    yield store
    store.close()


def each(store: Store, monkeypatch: pytest.MonkeyPatch, look: Callable[[Bell], object]) -> None:
    """Look at every bell that this store can have here."""
    if store.connection.dialect.name == "postgres":
        kinds: list[tuple[type[Bell], str]] = [(ListeningBell, sys.platform)]
    else:
        kinds = [(PollingBell, "elsewhere")]
        kinds += [(InotifyBell, "linux")] if sys.platform == "linux" else []
    for kind, platform in kinds:
        monkeypatch.setattr(sys, "platform", platform)
        bell = bell_of(store)
        monkeypatch.undo()
        assert isinstance(bell, kind)
        try:
            look(bell)
        finally:
            bell.close()


def test_a_commit_of_another_process_rings(
    listener: Store, other: Child, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(bell: Bell) -> None:
        for _ in range(3):
            other.send({"verb": "add_task", "project": project})
            assert bell.wait(COMES)
            other.answer()

    each(listener, monkeypatch, look)


def test_a_commit_between_two_waits_is_not_missed(
    listener: Store, other: Child, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(bell: Bell) -> None:
        assert not bell.wait(0.0)
        other.send({"verb": "add_task", "project": project})
        other.answer()
        assert bell.wait(COMES)

    each(listener, monkeypatch, look)


def test_a_read_and_a_refused_command_do_not_ring(
    kit: BoardKit, listener: Store, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(bell: Bell) -> None:
        kit.board.tasks.list(Place(project))
        kit.board.store.events_after(None)
        with pytest.raises(ZeroDivisionError):
            kit.board.store.write(lambda _: 1 // 0)
        assert not bell.wait(COMES_NOT)

    each(listener, monkeypatch, look)


def test_a_command_without_an_event_does_not_ring_the_bell_of_events(
    kit: BoardKit, listener: Store, project: str
) -> None:
    bell = bell_of(listener)
    kit.board.projects.move(project, "resume")
    assert not bell.wait(COMES_NOT)
    bell.close()


def test_one_wait_takes_in_all_that_was_rung_before_it(kit: BoardKit, listener: Store, project: str) -> None:
    bell = bell_of(listener)
    for name in ("one", "two", "three"):
        kit.board.memories.add(Place(project), name, category="rules", title=name)
    heard = 0
    while bell.wait(COMES_NOT):
        heard += 1
    assert 1 <= heard <= 3
    bell.close()


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux")
def test_without_inotify_the_bell_still_rings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who has used up the watches gets a slower bell, not an error."""
    kit = BoardKit(tmp_path / "kumi.db")

    def refuse(self: InotifyBell, path: Path) -> None:
        raise OSError(24, "too many watches")

    monkeypatch.setattr(bells.InotifyBell, "__init__", refuse)
    bell = bell_of(kit.board.store)
    assert isinstance(bell, PollingBell)
    kit.board.projects.init("/srv/shop", git=False)
    assert bell.wait(COMES)
    bell.close()
    kit.close()


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux")
def test_a_process_with_thousands_of_open_files_can_wait(tmp_path: Path) -> None:
    """A supervisor holds files of hundreds of agents; a descriptor above 1,023 must not break its bell."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("this user may not open enough files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    kit = BoardKit(tmp_path / "kumi.db")
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        bell = bell_of(kit.board.store)
        kit.board.projects.init("/srv/shop", git=False)
        assert bell.wait(COMES)
        bell.close()
    finally:
        for file in held:
            os.close(file)
        kit.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_who_waits_for_work_is_not_woken_by_anything_else(postgres: PostgresServer) -> None:
    """Of a thousand hosts that share a board each would look for work whenever somebody writes a note."""
    url = postgres.new_database()
    kit, listening = BoardKit(url), open_store(url)
    bell = bell_of(listening, work=True)
    try:
        project = kit.board.projects.init("/srv/shop", git=False).project
        agent = kit.board.agents.add("solo").agent
        kit.board.tasks.create(Place(project.id), NewTask("a note"))
        assert not bell.wait(COMES_NOT)
        kit.board.executions.enqueue(Wish(agent, "group"))
        assert bell.wait(COMES)
        run = kit.board.executions.claim("host_one")
        assert run is not None
        kit.board.executions.start(run.id, run.fence)
        assert not bell.wait(COMES_NOT)
        for call in (kit.board.executions.stop, lambda it: kit.board.executions.cancel(it, run.fence)):
            call(run.id)
            assert bell.wait(COMES)
    finally:
        bell.close()
        listening.close()
        kit.close()
        postgres.drop(url)


def test_who_is_not_rung_for_reads_it_with_the_next_that_rings(kit: BoardKit, project: str, listener: Store) -> None:
    board = kit.board
    if board.store.connection.dialect.name == "postgres":
        pytest.skip("the server itself wakes whoever listens, with the commit")
    bell, cursor = bell_of(listener), listener.newest_cursor()
    place = Place(project)
    board.store.write(lambda _: board.tasks.create(place, NewTask("quiet")), ring=False)
    assert not bell.wait(COMES_NOT)
    board.tasks.create(place, NewTask("loud"))
    assert bell.wait(COMES)
    kinds = [event.kind for event in listener.events_after(cursor)]
    assert kinds == ["task.created", "task.created"]
    bell.close()
