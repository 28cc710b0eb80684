"""Retries that wait for a place: one host makes it, of those that can."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kumihimo.domain.execution import Execution
from kumihimo.services.workers import Request
from kumihimo.store.executions import Reach
from tests.promises.replay import require_same_board
from tests.services.conftest import Shop
from tests.services.retrying import at_once, begin, host, lose, newest, place, waiting

ROUNDS = 5


def test_of_hosts_that_want_a_retry_at_once_one_has_it_and_the_others_write_nothing(shop: Shop) -> None:
    hosts = [host(shop, name) for name in ("b", "c", "d")]
    for _ in range(ROUNDS):
        task = shop.task(retries=1)
        lose(shop, begin(shop, task))
        again, events = newest(shop, task), shop.events()
        outcomes = at_once(shop, *(lambda board, run=again.id, one=one: board.retries.take(run, one) for one in hosts))
        (taken,) = [outcome for outcome in outcomes if outcome is not None]
        assert taken.host == hosts[outcomes.index(taken)] == newest(shop, task).host
        assert shop.events() == events + 1
        for one in hosts:
            assert (shop.kit.board.retries.take(again.id, one) is not None) == (one == taken.host)
        shop.kit.board.executions.stop(again.id)


def within_reach(shop: Shop, host_id: str, run: Execution) -> bool:
    """By the question and by the command alike."""
    seen = [one.id for one in shop.kit.board.retries.within_reach(host_id)] == [run.id]
    taken = shop.kit.board.retries.take(run.id, host_id) is not None
    assert seen == taken
    return seen


@pytest.mark.parametrize(
    "lacks",
    [{"clients": ("other",)}, {"projects": ()}, {"clients": ()}, {"draining": True}, {"lease": timedelta(0)}],
    ids=["client", "project", "programs", "will", "breath"],
)
def test_a_host_takes_only_what_it_can_do_and_takes_nothing_when_it_goes(shop: Shop, lacks: dict[str, Any]) -> None:
    _, again = waiting(shop)
    here = host(shop, "b", **lacks)
    assert not within_reach(shop, here, again)
    host(shop, "b")
    assert within_reach(shop, here, again)


def test_a_host_that_nobody_knows_takes_nothing(shop: Shop) -> None:
    _, again = waiting(shop)
    assert not within_reach(shop, "host_nowhere", again)


def test_a_retry_goes_where_its_task_is_pinned(shop: Shop) -> None:
    big, small = host(shop, "big", labels=("gpu",)), host(shop, "small")
    task = shop.task(retries=1, host="gpu")
    run = begin(shop, task, on="host_big")
    shop.kit.board.executions.lose(run.id, run.fence)
    again = newest(shop, task)
    assert again.host == "gpu"
    assert not within_reach(shop, small, again)
    assert within_reach(shop, big, again)
    # Also when the one that took it is gone.
    host(shop, "big", labels=("gpu",), lease=timedelta(0))
    assert shop.kit.board.retries.take(again.id, small) is None
    other = host(shop, "other", labels=("gpu",))
    assert within_reach(shop, other, again)


@pytest.mark.parametrize("how", [{"lease": timedelta(0)}, {"draining": True}], ids=["gone", "going"])
def test_where_the_host_that_took_it_goes_before_its_place_is_made_another_takes_it(
    shop: Shop, how: dict[str, Any]
) -> None:
    first, second = host(shop, "b"), host(shop, "c")
    task, again = waiting(shop)
    assert within_reach(shop, first, again)
    assert not within_reach(shop, second, again)
    host(shop, "b", **how)
    assert within_reach(shop, second, again)
    # What the first one has made meanwhile is nobody's place, and that it could not make it holds nobody up.
    events = shop.events()
    shop.kit.board.workers.ready(again.id, prompt="mine", working_directory="/b", host_id=first)
    shop.kit.board.workers.give_up(again.id, "no room", first)
    assert shop.events() == events
    assert newest(shop, task).status == "planned"
    shop.kit.board.workers.ready(again.id, prompt="mine", working_directory="/c", host_id=second)
    assert (newest(shop, task).status, newest(shop, task).working_directory) == ("queued", "/c")


@pytest.mark.parametrize("back", [False, True], ids=["gone", "back"])
def test_a_retry_whose_host_is_gone_before_it_began_waits_for_another_one(shop: Shop, back: bool) -> None:
    first, second, board = host(shop, "b"), host(shop, "c"), shop.kit.board
    task, again = waiting(shop)
    assert within_reach(shop, first, again)
    board.workers.ready(
        again.id, prompt="mine", working_directory="/b", branch="b", worktree="/b", base="c0", host_id=first
    )
    board.executions.lose_expired()
    assert newest(shop, task).status == "queued"
    host(shop, "b", lease=timedelta(0))
    if back:
        # It has begun after all: it is the one that claims it.
        host(shop, "b")
        (claimed,) = board.executions.claim_some(first, 1, reach=Reach((first,)))
        host(shop, "b", lease=timedelta(0))
        assert claimed.id == again.id
    board.executions.lose_expired()
    now = newest(shop, task)
    if back:
        assert now.status == "starting"
        return
    assert (now.id, now.status, now.attempt, now.host) == (again.id, "planned", 1, None)
    assert (now.branch, now.worktree, now.working_directory) == (None, None, None)
    assert board.executions.claim_some(first, 1, reach=Reach((first,))) == []
    assert within_reach(shop, second, again)
    require_same_board(board.store)


def test_a_host_that_begins_with_a_retry_while_it_is_given_up_has_it_or_has_it_not(shop: Shop) -> None:
    here, board = host(shop, "b"), shop.kit.board
    for _ in range(2 * ROUNDS):
        task, again = waiting(shop)
        assert within_reach(shop, here, again)
        board.workers.ready(again.id, prompt="go", working_directory="/b", branch="b", worktree="/b", host_id=here)
        host(shop, "b", lease=timedelta(0))
        claimed, lost = at_once(
            shop,
            lambda board: board.executions.claim_some(here, 1, reach=Reach((here,))),
            lambda board: board.executions.lose_expired(),
        )
        assert lost == []
        now = newest(shop, task)
        assert (now.status, now.host) == (("starting", here) if claimed else ("planned", None))
        host(shop, "b")
        board.executions.stop(now.id)
        if claimed:
            board.executions.cancel(now.id, now.fence)


def test_only_retries_are_taken(shop: Shop) -> None:
    here = host(shop, "b")
    planned = shop.kit.board.workers.open(shop.here, Request(shop.task().number, "worker")).execution
    assert not within_reach(shop, here, planned)
    assert not shop.kit.board.retries.waiting()
    task, again = waiting(shop)
    assert shop.kit.board.retries.waiting()
    place(shop, again, here)
    assert not shop.kit.board.retries.waiting()
    assert shop.kit.board.retries.take(again.id, here) is None
    assert newest(shop, task).status == "running"
