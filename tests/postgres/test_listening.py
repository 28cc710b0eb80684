"""Nobody hears for us: whoever waits is told to look, until somebody hears again."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest

from kumihimo.store import feed as feeds
from kumihimo.store.bell import bell_of
from kumihimo.store.feed import Feed
from kumihimo.store.listening import ListeningBell
from kumihimo.supervisor.wake import Wake
from kumihimo.testing.boards import BoardKit
from tests.lead.shop import until
from tests.postgres.line import Line

Opened = Callable[[str], BoardKit]
COMES, COMES_NOT = 30.0, 0.15
LISTENERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"


@pytest.fixture
def kit(line: Line, url: str, opened: Opened) -> BoardKit:
    """Its commands go straight to the server, its notices come over a line that can be cut."""
    return opened(f"{url}&sslmode=disable&gssencmode=disable&listen=127.0.0.1:{line.port}")


@pytest.fixture
def bell(kit: BoardKit) -> Iterator[ListeningBell]:
    with closing(bell_of(kit.board.store)) as made:
        assert isinstance(made, ListeningBell)
        yield made


def listeners(url: str) -> list[int]:
    with psycopg.connect(url, autocommit=True) as connection:
        return [row[0] for row in connection.execute(LISTENERS.encode())]


def end_listeners(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid, 10000) FROM ({LISTENERS}) AS found".encode())


def test_a_bell_that_lost_its_connection_says_to_look_until_it_hears_again(
    kit: BoardKit, bell: ListeningBell, line: Line, url: str
) -> None:
    assert not bell.wait(0.0)
    line.refusing = True
    end_listeners(url)
    assert [bell.wait(COMES) for _ in range(4)] == [True] * 4
    line.refusing = False
    # Quiet again: it hears, and there is nothing to hear.
    until(lambda: not bell.wait(COMES_NOT))
    kit.board.agents.add("news")
    assert bell.wait(COMES)
    assert not bell.wait(COMES_NOT)


def test_a_follower_sees_what_happens_while_nobody_hears(
    kit: BoardKit, bell: ListeningBell, line: Line, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What it would do by itself now and then must not help it here.
    monkeypatch.setattr(feeds, "_LOOK_AGAIN_SECONDS", COMES)
    feed = Feed(kit.board.store, bell, kit.board.store.newest_cursor())
    line.refusing = True
    end_listeners(url)
    assert feed.next(0.1) == []
    made: list[str] = []
    writer = BoardKit(url)
    writing = threading.Timer(0.1, lambda: made.append(writer.board.agents.add("news").agent.id))
    writing.start()
    seen = [event.subject for event in feed.next(COMES)]
    writing.join()
    writer.close()
    assert seen == made


def test_a_supervisor_is_woken_while_nobody_hears(kit: BoardKit, line: Line, url: str) -> None:
    wake = Wake(lambda: bell_of(kit.board.store))
    try:
        line.refusing = True
        end_listeners(url)
        for _ in range(3):
            assert select.select(wake.descriptors, (), (), COMES)[0]
            assert wake.clear()
    finally:
        wake.close()


def test_a_bell_that_finds_no_connection_at_first_is_deaf_and_no_error(kit: BoardKit, line: Line) -> None:
    line.refusing = True
    with closing(bell_of(kit.board.store)) as bell:
        assert bell.wait(COMES)
        line.refusing = False
        until(lambda: not bell.wait(COMES_NOT))
        kit.board.agents.add("news")
        assert bell.wait(COMES)


def test_a_bell_that_is_closed_while_it_looks_for_a_connection_leaves_none(kit: BoardKit, line: Line, url: str) -> None:
    line.refusing = True
    before = set(threading.enumerate())
    bell = bell_of(kit.board.store)
    bell.close()
    line.refusing = False
    until(lambda: not [thread for thread in set(threading.enumerate()) - before if thread.name == "kumi-listen"])
    assert listeners(url) == []
