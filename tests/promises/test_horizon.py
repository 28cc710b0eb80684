"""PostgreSQL commits in another order than it gives out numbers. Transactions by hand, interleaved step by step."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kumihimo.domain.context import ContextEntry
from kumihimo.domain.errors import StoreUnreachable
from kumihimo.domain.event import Change, Event
from kumihimo.domain.project import Project
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.bell import bell_of
from kumihimo.store.copying import copy_board
from kumihimo.store.feed import Feed
from kumihimo.store.store import Store, Transaction, open_store
from kumihimo.testing.boards import BoardKit

from .replay import log

OpenKit = Callable[[str | Path], BoardKit]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class ByHand:
    """A command whose steps a test takes one by one."""

    def __init__(self, database: str) -> None:
        self.store = open_store(database)
        self.board = Transaction(self.store.connection)

    def begin(self) -> None:
        self.board.events.begin("test")
        self.store.connection.begin_write()

    def add_project(self, name: str) -> str:
        project = Project(f"prj_{name}", name, f"/srv/{name}", "active", False, NOW, NOW)
        assert self.board.projects.add(Change(project, "project.created", NOW))
        # Not at the end, as a command does: so it has its number while it is under way.
        self.board.events.write()
        return project.id

    def commit(self) -> None:
        self.board.events.write()
        self.store.connection.commit()

    def rollback(self) -> None:
        self.store.connection.rollback()


@pytest.fixture
def slow(server_database: str) -> Iterator[ByHand]:
    hand = ByHand(server_database)
    yield hand
    hand.store.close()


@pytest.fixture
def quick(server_database: str) -> Iterator[ByHand]:
    hand = ByHand(server_database)
    yield hand
    hand.store.close()


@pytest.fixture
def reader(server_database: str) -> Iterator[Store]:
    store = open_store(server_database)
    yield store
    store.close()


def one_committed(hand: ByHand, name: str) -> str:
    hand.begin()
    made = hand.add_project(name)
    hand.commit()
    return made


def subjects(events: list[Event]) -> list[str]:
    return [event.subject for event in events]


def test_a_command_under_way_holds_back_what_was_committed_with_a_greater_number(
    slow: ByHand, quick: ByHand, reader: Store
) -> None:
    before = one_committed(quick, "before")
    slow.begin()
    first = slow.add_project("slow")
    second = one_committed(quick, "quick")
    assert subjects(log(reader)) == [before]
    slow.commit()
    assert subjects(log(reader)) == [before, first, second]


def test_a_command_that_is_given_up_lets_the_others_pass(slow: ByHand, quick: ByHand, reader: Store) -> None:
    before = one_committed(quick, "before")
    slow.begin()
    slow.add_project("slow")
    second = one_committed(quick, "quick")
    assert subjects(log(reader)) == [before]
    slow.rollback()
    assert subjects(log(reader)) == [before, second]


def test_a_command_whose_connection_dies_lets_the_others_pass(slow: ByHand, quick: ByHand, reader: Store) -> None:
    before = one_committed(quick, "before")
    slow.begin()
    slow.add_project("slow")
    (pid,) = slow.store.connection.execute("SELECT pg_backend_pid()")[0]
    second = one_committed(quick, "quick")
    assert quick.store.connection.execute("SELECT pg_terminate_backend(?, 10000)", (pid,)) == [(True,)]
    assert subjects(log(reader)) == [before, second]


def test_a_command_that_has_written_no_event_yet_holds_nobody_back(slow: ByHand, quick: ByHand, reader: Store) -> None:
    before = one_committed(quick, "before")
    slow.begin()
    slow.board.projects.lock(before)
    second = one_committed(quick, "quick")
    assert subjects(log(reader)) == [before, second]
    slow.rollback()


def test_a_long_command_that_locked_a_row_early_does_not_show_its_effect_before_the_cause(
    slow: ByHand, quick: ByHand, reader: Store
) -> None:
    """Its transaction number is older than that of what it builds on: an order by those would turn the two around."""
    parent = one_committed(quick, "parent")
    slow.begin()
    slow.board.projects.lock(parent)
    cause = one_committed(quick, "cause")
    slow.board.projects.lock(cause)
    project = slow.board.projects.get(cause)
    assert project is not None
    slow.board.projects.save(project.move("pause", NOW))
    slow.board.events.write()
    later = one_committed(quick, "later")
    assert subjects(log(reader)) == [parent, cause]
    slow.commit()
    assert [(event.subject, event.kind) for event in log(reader)] == [
        (parent, "project.created"),
        (cause, "project.created"),
        (cause, "project.paused"),
        (later, "project.created"),
    ]


def test_a_command_is_announced_before_it_has_a_number(slow: ByHand, quick: ByHand, reader: Store) -> None:
    """Both are one statement: held where it announces itself, it has taken no number yet that a reader could pass."""
    one_committed(quick, "before")
    connection = reader.connection
    stood = "SELECT last_value FROM events_seq_seq"
    (number,) = connection.execute(stood)[0]
    (lock,) = connection.execute("SELECT ?::bigint + ?", (0x4B55 << 48, number))[0]
    connection.execute("SELECT pg_advisory_lock(?)", (lock,))
    slow.begin()
    held = threading.Thread(target=slow.add_project, args=("slow",))
    held.start()
    try:
        while not connection.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
            assert held.is_alive()
        assert connection.execute(stood) == [(number,)]
    finally:
        connection.execute("SELECT pg_advisory_unlock(?)", (lock,))
        held.join(30)
    assert connection.execute(stood) == [(number + 1,)]
    slow.commit()


def test_events_of_one_command_have_numbers_in_the_order_in_which_they_happened(quick: ByHand, reader: Store) -> None:
    quick.begin()
    for number in range(250):
        project = Project(f"prj_{number}", str(number), f"/srv/{number}", "active", False, NOW, NOW)
        quick.board.projects.add(Change(project, "project.created", NOW))
    quick.commit()
    assert subjects(log(reader)) == [f"prj_{number}" for number in range(250)]


def test_the_cursor_behind_everything_settled_is_not_behind_a_command_under_way(
    slow: ByHand, quick: ByHand, reader: Store
) -> None:
    one_committed(quick, "before")
    slow.begin()
    first = slow.add_project("slow")
    second = one_committed(quick, "quick")
    cursor = reader.newest_cursor()
    slow.commit()
    assert subjects(log(reader, cursor)) == [first, second]


def test_the_very_first_event_of_a_board_is_not_passed_while_it_is_under_way(
    slow: ByHand, quick: ByHand, reader: Store
) -> None:
    """An unused sequence says 1, and so does one that gave out 1: the first event must be told apart."""
    slow.begin()
    first = slow.add_project("slow")
    second = one_committed(quick, "quick")
    cursor = reader.newest_cursor()
    slow.commit()
    assert subjects(log(reader, cursor)) == [first, second]


def test_the_first_event_after_a_copy_is_not_passed_while_it_is_under_way(
    slow: ByHand, quick: ByHand, reader: Store, tmp_path: Path, open_kit: OpenKit
) -> None:
    source = open_kit(tmp_path / "source.db")
    source.board.projects.init("/srv/shop", git=False)
    copy_board(source.board.store, slow.store)
    slow.begin()
    first = slow.add_project("slow")
    second = one_committed(quick, "quick")
    cursor = reader.newest_cursor()
    slow.commit()
    assert subjects(log(reader, cursor)) == [first, second]


def test_a_context_is_never_shown_before_its_task(
    server_database: str, slow: ByHand, reader: Store, open_kit: OpenKit
) -> None:
    kit = open_kit(server_database)
    shop = kit.board.projects.init("/srv/shop", git=False).project
    other = kit.board.projects.init("/srv/other", git=False).project
    cursor = reader.newest_cursor()
    slow.begin()
    slow.board.projects.lock(other.id)
    task = kit.board.tasks.create(Place(shop.id), NewTask("cause")).task
    entry = ContextEntry("ctx_effect", shop.id, task.id, None, "note", "effect", NOW)
    slow.board.contexts.add(Change(entry, "context.added", NOW))
    slow.commit()
    assert subjects(log(reader, cursor)) == [task.id, entry.id]


def test_a_reader_whose_connection_was_cut_goes_on_where_it_was(quick: ByHand, reader: Store) -> None:
    one_committed(quick, "before")
    bell = bell_of(reader)
    feed = Feed(reader, bell, reader.newest_cursor())
    (pid,) = reader.connection.execute("SELECT pg_backend_pid()")[0]
    quick.store.connection.execute("SELECT pg_terminate_backend(?, 10000)", (pid,))
    after = one_committed(quick, "after")
    seen: list[str] = []
    # That it was cut may be said, in our words; the next look must work.
    for _ in range(3):
        with contextlib.suppress(StoreUnreachable):
            seen += subjects(feed.next(0.0))
    bell.close()
    assert seen == [after]


def test_a_writer_whose_connection_was_cut_in_the_middle_is_told_and_goes_on(
    quick: ByHand, server_database: str, open_kit: OpenKit
) -> None:
    kit = open_kit(server_database)
    shop = Place(kit.board.projects.init("/srv/shop", git=False).project.id)

    def cut_off(transaction: Transaction) -> None:
        kit.board.tasks.create(shop, NewTask("lost"))
        (pid,) = transaction.connection.execute("SELECT pg_backend_pid()")[0]
        quick.store.connection.execute("SELECT pg_terminate_backend(?, 10000)", (pid,))

    with pytest.raises(StoreUnreachable):
        kit.board.store.write(cut_off)
    assert kit.board.tasks.create(shop, NewTask("found")).task.number == 1


def test_a_writer_whose_connection_was_cut_between_two_commands_loses_nothing(
    quick: ByHand, server_database: str, open_kit: OpenKit
) -> None:
    kit = open_kit(server_database)
    shop = Place(kit.board.projects.init("/srv/shop", git=False).project.id)
    (pid,) = kit.board.store.connection.execute("SELECT pg_backend_pid()")[0]
    quick.store.connection.execute("SELECT pg_terminate_backend(?, 10000)", (pid,))
    made: list[int] = []
    # That it was cut is noticed before the next command, or said by it: its end may be on its way.
    for title in ("first", "second"):
        with contextlib.suppress(StoreUnreachable):
            made.append(kit.board.tasks.create(shop, NewTask(title)).task.number)
    assert made in ([1], [1, 2])


def test_a_lock_that_was_waited_for_shows_the_dependencies_that_were_added_meanwhile(
    server_database: str, slow: ByHand, open_kit: OpenKit
) -> None:
    """The row comes in its new version; so must what a subquery adds to it."""
    kit = open_kit(server_database)
    shop = Place(kit.board.projects.init("/srv/shop", git=False).project.id)
    one, two = (kit.board.tasks.create(shop, NewTask(title)).task for title in ("one", "two"))
    slow.begin()
    locked = slow.board.tasks.lock(one.id)
    assert locked is not None
    slow.board.tasks.save_dependencies(locked.edit(NOW, depends_on=(two.id,)))
    seen: list[tuple[str, ...]] = []

    def wait_for_the_row() -> None:
        other = open_store(server_database)
        found = other.write(lambda transaction: transaction.tasks.lock(one.id))
        other.close()
        assert found is not None
        seen.append(found.depends_on)

    waiting = threading.Thread(target=wait_for_the_row)
    waiting.start()
    while not kit.board.store.connection.execute("SELECT 1 FROM pg_locks WHERE NOT granted"):
        assert waiting.is_alive()
    slow.commit()
    waiting.join(30)
    assert seen == [(two.id,)]
