"""The feed: every event once, no effect before its cause, whoever writes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kumihimo.domain.errors import CursorInvalid
from kumihimo.domain.event import Event
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.upkeep import fold
from kumihimo.store.bell import bell_of
from kumihimo.store.feed import Feed
from kumihimo.store.store import Store, open_store
from kumihimo.testing.boards import BoardKit

from .causes import Causes
from .crew import Crew
from .replay import differences, log, replay, require_same_board, rows

COMMANDS = 60


@pytest.fixture
def project(kit: BoardKit) -> str:
    return kit.board.projects.init("/srv/shop", git=False).project.id


@pytest.fixture
def follower(database: str, kit: BoardKit) -> Iterator[Store]:
    """A reader's own connection, as another process would have it."""
    store = open_store(database)
    yield store
    store.close()


def follow(feed: Feed, crew: Crew) -> list[Event]:
    """Everything that comes while the crew works, and what is left when it has finished."""
    seen: list[Event] = []
    while not all(child.answered() for child in crew.children):
        seen += feed.next(0.2, limit=7)
    while events := feed.next(0.0, limit=7):
        seen += events
    return seen


def write_everything(crew: Crew, project: str) -> None:
    crew.begin([{"verb": "mixed", "project": project, "seed": n, "count": COMMANDS} for n in range(8)])


@pytest.mark.slow
def test_a_reader_sees_every_event_of_eight_writers_once_and_no_effect_before_its_cause(
    kit: BoardKit, project: str, crew: Crew, follower: Store
) -> None:
    bell = bell_of(follower)
    write_everything(crew, project)
    seen = follow(Feed(follower, bell, None), crew)
    assert all(done > COMMANDS // 4 for done in crew.finish(8))
    bell.close()
    causes = Causes()
    for event in seen:
        causes.see(event)
    assert causes.violations == []
    everything = kit.board.store.connection.execute("SELECT seq, kind, subject FROM events ORDER BY seq")
    assert [(event.cursor, event.kind, event.subject) for event in seen] == [
        (str(seq), kind, subject) for seq, kind, subject in everything
    ]
    assert differences(replay(seen), rows(kit.board.store)) == []
    assert {event.actor for event in seen} >= {f"w{n}" for n in range(8)}


def test_a_reader_that_continues_from_a_saved_cursor_sees_exactly_the_rest(
    kit: BoardKit, project: str, crew: Crew, follower: Store
) -> None:
    write_everything(crew, project)
    bell = bell_of(follower)
    first = Feed(follower, bell, None)
    seen: list[Event] = []
    while len(seen) < 100:
        seen += first.next(10.0, limit=9)
    saved = first.cursor
    bell.close()
    # The second reader is another connection, and begins while the writers are at it.
    other = open_store(kit.database)
    bell = bell_of(other)
    seen += follow(Feed(other, bell, saved), crew)
    crew.finish(8)
    bell.close()
    other.close()
    assert [event.cursor for event in seen] == [event.cursor for event in log(kit.board.store)]


def test_a_snapshot_and_the_feed_behind_the_cursor_taken_before_it_miss_nothing(
    kit: BoardKit, project: str, crew: Crew, follower: Store
) -> None:
    write_everything(crew, project)
    bell = bell_of(follower)
    while len(rows(follower).get("task", {})) < 10:
        bell.wait(1.0)
    cursor = follower.newest_cursor()
    board = rows(follower)
    later = follow(Feed(follower, bell, cursor), crew)
    crew.finish(8)
    bell.close()
    assert differences(replay(later, board), rows(kit.board.store)) == []


def test_folding_keeps_the_replay_and_lets_a_follower_go_on(
    kit: BoardKit, project: str, crew: Crew, follower: Store
) -> None:
    write_everything(crew, project)
    crew.finish(8)
    before = log(kit.board.store)
    board = replay(before)
    bell = bell_of(follower)
    feed = Feed(follower, bell, before[len(before) // 2].cursor)
    kit.clock.at = before[-1].at
    kit.clock.advance(days=1)
    gone = fold(kit.board, retention_days=0)
    left = log(kit.board.store)
    assert gone == len(before) - len(left) > 0
    assert len(left) == sum(len(values) for values in board.values())
    assert left[-1].cursor == before[-1].cursor
    assert differences(replay(left), board) == []
    require_same_board(kit.board.store)
    middle = int(before[len(before) // 2].cursor)
    rest = list(iter(lambda: feed.next(0.0), []))
    assert [event.cursor for batch in rest for event in batch] == [
        event.cursor for event in left if int(event.cursor) > middle
    ]
    made = kit.board.tasks.create(Place(project), NewTask("after the fold"))
    assert [event.subject for event in feed.next(10.0)] == [made.task.id]
    bell.close()


def test_folding_spares_what_is_younger_than_the_retention(kit: BoardKit, project: str) -> None:
    task = kit.board.tasks.create(Place(project), NewTask("one")).task
    kit.clock.advance(days=10)
    for title in ("two", "three", "four"):
        kit.board.tasks.update(Place(project), task.id, title=title)
    kit.clock.advance(days=10)
    fold(kit.board, retention_days=15)
    kinds = [event.kind for event in log(kit.board.store) if event.subject == task.id]
    assert kinds == ["task.updated"] * 3


def test_folding_twice_removes_nothing_more(kit: BoardKit, project: str) -> None:
    task = kit.board.tasks.create(Place(project), NewTask("one")).task
    kit.board.tasks.update(Place(project), task.id, title="two")
    kit.clock.advance(days=1)
    assert fold(kit.board, retention_days=0) > 0
    assert fold(kit.board, retention_days=0) == 0


@pytest.mark.parametrize("cursor", ["999999", "-1", "", "abc", "1.5", "٣", "9" * 30, "1; DROP TABLE events"])
def test_a_cursor_that_this_board_did_not_give_is_refused(kit: BoardKit, project: str, cursor: str) -> None:
    with pytest.raises(CursorInvalid):
        kit.board.store.events_after(cursor)


def test_a_cursor_of_a_longer_board_is_refused_on_an_empty_one(kit: BoardKit) -> None:
    with pytest.raises(CursorInvalid):
        kit.board.store.events_after("7")


def test_a_reader_at_the_end_waits_and_is_not_refused(kit: BoardKit, project: str) -> None:
    newest = kit.board.store.newest_cursor()
    assert kit.board.store.events_after(newest) == []
    assert kit.board.store.newest_cursor() == newest
