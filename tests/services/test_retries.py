"""Retries: another run in the very transaction that ends one, where the policy of the task says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kumihimo.domain.errors import IllegalTransition
from kumihimo.domain.evidence import Evidence
from kumihimo.domain.execution import Execution, FailureReason, Report
from kumihimo.domain.retry import REASONS
from kumihimo.services.board import Board
from kumihimo.services.workers import UNMADE_FOR, Request
from tests.promises.replay import require_same_board
from tests.services.conftest import Shop
from tests.services.retrying import at_once, begin, host, lose, newest, place, runs, see, start, waiting

ROUNDS = 5


def test_a_run_that_is_lost_is_followed_by_one_of_its_own_with_all_that_was_asked_for(shop: Shop) -> None:
    task = shop.task(retries=1)
    lost = lose(shop, begin(shop, task))
    again = newest(shop, task)
    assert (lost.status, shop.kit.board.executions.show(lost.id)) == ("lost", lost)
    assert (again.status, again.origin, again.previous_id, again.attempt) == ("planned", "worker", lost.id, 1)
    assert (again.agent_id, again.client, again.model) == (lost.agent_id, lost.client, lost.model)
    assert (again.auto, again.skip_checks, again.timeout_ms) == (True, True, 9_000)
    assert (again.number, again.fence, again.owner, again.host, again.branch) == (2, 0, None, None, None)
    assert see(shop, task).status == "in_progress"
    require_same_board(shop.kit.board.store)


def test_without_a_worktree_it_waits_for_any_host_at_once_with_the_same_words(shop: Shop) -> None:
    task = shop.task(retries=2)
    lost = lose(shop, begin(shop, task, worktree=False))
    again = newest(shop, task)
    assert (again.status, again.working_directory) == ("queued", "/srv/shop")
    assert again.prompt.startswith("You are not the first on this task.")
    assert lost.id in again.prompt
    assert again.prompt.endswith("\n\nTask #1")
    third = lose(shop, start(shop, again, "host_b")) and newest(shop, task)
    # Only of the one before: who was before that is of no use any more.
    assert again.id in third.prompt
    assert lost.id not in third.prompt
    assert third.prompt.count("not the first") == 1


def test_without_a_policy_nothing_is_started_elsewhere(shop: Shop) -> None:
    task = shop.task()
    lost = lose(shop, begin(shop, task))
    assert [run.id for run in runs(shop, task)] == [lost.id]
    assert (see(shop, task).status, see(shop, task).status_reason) == ("blocked", "lost")


def test_when_the_policy_is_used_up_the_task_is_blocked_and_says_how_often_it_was_tried(shop: Shop) -> None:
    task = shop.task(retries=2)
    lose(shop, begin(shop, task, worktree=False))
    for attempt in (1, 2):
        again = newest(shop, task)
        assert again.attempt == attempt
        lose(shop, start(shop, again))
    assert len(runs(shop, task)) == 3
    assert (see(shop, task).status, see(shop, task).status_reason) == ("blocked", "lost (tried 3 times)")
    # Who begins anew has all of it again.
    fresh = begin(shop, see(shop, task), worktree=False)
    assert fresh.attempt == 0


Ending = Callable[[Board, Execution], object]
ENDINGS: dict[str, tuple[Ending, FailureReason | None]] = {
    "lost": (lambda board, run: board.executions.lose(run.id, run.fence), "lost"),
    "exited": (lambda board, run: board.executions.fail(run.id, run.fence, "exited", exit_code=2), "exited"),
    "auth": (lambda board, run: board.executions.fail(run.id, run.fence, "auth"), None),
    "permission": (lambda board, run: board.executions.fail(run.id, run.fence, "permission"), None),
    "timed_out": (lambda board, run: board.executions.time_out(run.id, run.fence, "timed_out"), "timed_out"),
    "idle": (lambda board, run: board.executions.time_out(run.id, run.fence, "idle"), "idle"),
    "cancelled": (lambda board, run: board.executions.cancel(run.id, run.fence), None),
    "completed": (lambda board, run: board.executions.complete(run.id, run.fence), None),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_whoever_ends_a_run_it_is_followed_where_the_policy_says_so(shop: Shop, name: str) -> None:
    end, reason = ENDINGS[name]
    task = shop.task(retries=1, retry_on=REASONS)
    end(shop.kit.board, begin(shop, task))
    assert len(runs(shop, task)) == (2 if reason else 1)
    expected = "in_progress" if reason or name == "completed" else "blocked"
    assert see(shop, task).status == expected


def test_a_run_that_could_not_be_started_is_followed_as_well(shop: Shop) -> None:
    task, board = shop.task(retries=1, retry_on=["spawn_failed"]), shop.kit.board
    worker = board.workers.open(shop.here, Request(task.number, "worker"))
    board.workers.ready(worker.execution.id, prompt="go", working_directory="/srv/shop")
    claimed = board.executions.claim("host_a")
    assert claimed is not None
    board.executions.fail(claimed.id, claimed.fence, "spawn_failed", error="there is no folder")
    assert newest(shop, task).attempt == 1


def test_an_end_that_is_not_named_blocks_the_task_as_before(shop: Shop) -> None:
    task = shop.task(retries=3, retry_on=["exited"])
    lose(shop, begin(shop, task))
    assert len(runs(shop, task)) == 1
    assert see(shop, task).status == "blocked"


@pytest.mark.parametrize("status", ["success", "failure"])
def test_an_agent_that_has_reported_is_not_followed(shop: Shop, status: str) -> None:
    task, board = shop.task(retries=3), shop.kit.board
    run = begin(shop, task)
    board.executions.report(run.id, Report(status, "so it went", shop.kit.clock()))  # type: ignore[arg-type]
    lose(shop, run)
    assert len(runs(shop, task)) == 1
    assert see(shop, task).claimed_by == (run.id if status == "success" else None)


def test_what_somebody_has_stopped_is_not_begun_again_though_its_host_was_gone_before_it_could_end_it(
    shop: Shop,
) -> None:
    task = shop.task(retries=3)
    run = begin(shop, task)
    shop.kit.board.executions.stop(run.id)
    lose(shop, run)
    assert len(runs(shop, task)) == 1
    assert see(shop, task).status == "blocked"


@pytest.mark.parametrize("status", ["todo", "cancelled", "blocked"])
def test_a_task_that_somebody_has_moved_meanwhile_is_left_alone(shop: Shop, status: str) -> None:
    task = shop.task(retries=3)
    run = begin(shop, task)
    shop.kit.board.tasks.update(shop.here, task.number, status=status, reason="enough")  # type: ignore[arg-type]
    lose(shop, run)
    assert len(runs(shop, task)) == 1
    assert (see(shop, task).status, see(shop, task).status_reason) == (status, "enough")


def test_a_task_that_was_given_to_somebody_else_meanwhile_waits_for_a_person(shop: Shop) -> None:
    task = shop.task(retries=3)
    run = begin(shop, task)
    shop.walk(task, "blocked")
    shop.kit.board.tasks.assign(shop.here, task.number, "reviewer")
    shop.walk(task, "in_progress")
    lose(shop, run)
    assert len(runs(shop, task)) == 1
    assert see(shop, task).status == "blocked"


def test_an_agent_that_is_archived_is_not_started_again(shop: Shop) -> None:
    task = shop.task(retries=3)
    run = begin(shop, task)
    shop.kit.board.agents.archive("coder")
    lose(shop, run)
    assert len(runs(shop, task)) == 1


def test_sessions_of_others_are_theirs_to_begin_again(shop: Shop) -> None:
    task = shop.task(retries=3, retry_on=REASONS)
    session = shop.kit.board.work_sessions.start(shop.here, task.number)
    shop.kit.board.work_sessions.end(shop.here, session.execution.number or 0, 1)
    assert len(runs(shop, task)) == 1


# Several who end one at once.


def test_of_three_who_end_a_run_at_once_one_does_and_one_run_follows(shop: Shop) -> None:
    for _ in range(ROUNDS):
        task = shop.task(retries=1, retry_on=["lost", "exited"])
        run = begin(shop, task)
        shop.kit.clock.advance(seconds=31)
        outcomes = at_once(
            shop,
            lambda board: [lost.id for lost in board.executions.lose_expired()],
            lambda board, run=run: board.executions.lose(run.id, run.fence),
            lambda board, run=run: board.executions.fail(run.id, run.fence, "exited"),
        )
        assert sum(outcome == [run.id] or isinstance(outcome, Execution) for outcome in outcomes) == 1
        (again,) = [one for one in runs(shop, task) if one.id != run.id]
        assert (again.previous_id, again.attempt, again.status) == (run.id, 1, "planned")
        assert see(shop, task).status == "in_progress"
        shop.kit.board.executions.stop(again.id)
    require_same_board(shop.kit.board.store)


# What follows for the task.


def evidence(run: Execution, **found: Any) -> Evidence:
    return Evidence(run.id, "c0", "c1", run.queued_at, **found)


@pytest.mark.parametrize("then", ["planned", "running", "completed"])
def test_what_the_lost_run_left_decides_nothing_once_another_has_followed(shop: Shop, then: str) -> None:
    here, task, board = host(shop, "b"), shop.task(retries=1), shop.kit.board
    lost = lose(shop, begin(shop, task))
    again = newest(shop, task)
    if then != "planned":
        again = place(shop, again, here)
    if then == "completed":
        board.executions.complete(again.id, again.fence)
    board.evidence.verify(lost.id, evidence(lost, violations=("secret.txt",)))
    assert (see(shop, task).status, newest(shop, task).status) == ("in_progress", then)
    assert see(shop, task).claimed_by == (again.id if then == "completed" else None)
    # What the newest left does.
    if then == "completed":
        board.evidence.verify(again.id, evidence(again, violations=("secret.txt",)))
        assert see(shop, task).status == "blocked"


def test_what_its_agent_says_afterwards_is_kept_and_changes_nothing_of_the_task(shop: Shop) -> None:
    here, task, board = host(shop, "b"), shop.task(retries=1), shop.kit.board
    lost = lose(shop, begin(shop, task))
    again = place(shop, newest(shop, task), here)
    before = see(shop, task)
    board.executions.report(lost.id, Report("success", "I did it", shop.kit.clock()))
    board.executions.come_back(lost.id, "/runs/out", exit_code=0)
    board.evidence.verify(lost.id, evidence(lost))
    assert see(shop, task) == before
    kept = board.executions.show(lost.id)
    assert (kept.status, kept.report is not None, kept.returned is not None) == ("lost", True, True)
    with pytest.raises(IllegalTransition):
        board.executions.complete(lost.id, lost.fence)
    assert board.executions.show(again.id).status == "running"


def test_who_was_overtaken_is_told_to_its_host_until_that_has_said_what_it_knows(shop: Shop) -> None:
    board, task, alone = shop.kit.board, shop.task(retries=1), shop.task()
    lose(shop, begin(shop, alone))
    lost = lose(shop, begin(shop, task))
    assert [run.id for run in board.retries.overtaken("host_a")] == [lost.id]
    assert board.retries.overtaken("host_b") == []
    board.executions.come_back(lost.id, "/runs/out", exit_code=143, signal="SIGTERM")
    assert board.retries.overtaken("host_a") == []


def test_a_task_whose_retry_waits_for_its_place_is_no_work_for_anybody_else(shop: Shop) -> None:
    task, _ = waiting(shop)
    board = shop.kit.board
    assert board.store.read(lambda transaction: transaction.executions.live_on_task(task.id))
    assert not board.store.read(
        lambda transaction: board.instances._open_tasks(transaction, shop.coder.id, shop.project.id)
    )


def test_a_retry_that_is_stopped_before_it_began_leaves_its_task_blocked(shop: Shop) -> None:
    task, again = waiting(shop)
    shop.kit.board.executions.stop(again.id)
    assert newest(shop, task).status == "cancelled"
    assert len(runs(shop, task)) == 2
    assert see(shop, task).status == "blocked"


def test_a_retry_whose_place_nobody_makes_gives_its_task_back_in_the_end(shop: Shop) -> None:
    task, _ = waiting(shop)
    assert shop.kit.board.workers.expire_unused() == 0
    shop.kit.clock.advance(seconds=UNMADE_FOR.total_seconds() + 1)
    assert shop.kit.board.workers.expire_unused() == 1
    assert (newest(shop, task).status, see(shop, task).status) == ("cancelled", "blocked")
    assert len(runs(shop, task)) == 2


def test_who_wants_a_worker_while_a_retry_waits_for_its_place_gets_that(shop: Shop) -> None:
    task, again = waiting(shop)
    given = shop.kit.board.workers.open(shop.here, Request(task.number, "worker")).execution
    assert (given.id, given.attempt) == (again.id, 1)
