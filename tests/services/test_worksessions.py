from __future__ import annotations

import pytest

from kumihimo.domain.errors import (
    AgentNotFound,
    IllegalTransition,
    InvalidValue,
    SessionAlreadyRunning,
    SessionNotFound,
    TaskHeld,
    TaskNotReady,
)
from kumihimo.domain.task import TaskStatus
from tests.services.conftest import Shop


def test_a_session_gives_the_task_its_agent_and_starts_it(shop: Shop) -> None:
    work = shop.kit.board.work_sessions
    made = work.start(shop.here, shop.task(assignee=None, status="backlog").number)
    assert (made.agent.name, made.task.status, made.execution.status, made.execution.number) == (
        "coder", "in_progress", "running", 1,
    )  # fmt: skip
    assert work.start(shop.here, shop.task(assignee="reviewer").number).agent == shop.reviewer
    assert work.start(shop.here, shop.task(assignee="reviewer").number, "writer").agent.name == "writer"


def test_a_task_has_one_running_session(shop: Shop) -> None:
    work, task = shop.kit.board.work_sessions, shop.task()
    first = work.start(shop.here, task.number)
    with pytest.raises(SessionAlreadyRunning, match=r"\(1\)"):
        work.start(shop.here, task.number)
    work.end(shop.here, 1, 0)
    second = work.start(shop.here, task.number)
    assert (first.execution.number, second.execution.number) == (1, 2)


@pytest.mark.parametrize(
    ("exit_code", "dod", "signal", "run", "status"),
    [
        (0, "merged", None, "completed", "done"),
        (0, None, None, "completed", "in_progress"),
        (0, "pending", None, "completed", "in_progress"),
        (3, None, None, "failed", "blocked"),
        (143, "error", "SIGTERM", "failed", "blocked"),
    ],
)
def test_how_a_session_ends_decides_the_task(
    shop: Shop, exit_code: int, dod: str | None, signal: str | None, run: str, status: TaskStatus
) -> None:
    work = shop.kit.board.work_sessions
    work.start(shop.here, shop.task().number)
    shop.kit.clock.advance(seconds=2)
    ended = work.end(shop.here, 1, exit_code, signal=signal, dod_result=dod, artifacts=["a.py"], error="boom")  # type: ignore[arg-type]
    kept = ended.execution
    assert (kept.status, kept.exit_code, kept.signal, kept.dod_result, kept.artifacts, kept.duration_ms) == (
        run, exit_code, signal, dod, ("a.py",), 2000,
    )  # fmt: skip
    assert ended.task.status == status
    if status == "blocked":
        assert ended.task.status_reason == "boom"


def test_an_exit_is_kept_also_where_the_task_may_not_be_done_yet(shop: Shop) -> None:
    work, parent = shop.kit.board.work_sessions, shop.task("parent")
    shop.task("kid", parent=parent.number)
    work.start(shop.here, parent.number)
    ended = work.end(shop.here, 1, 0, dod_result="merged")
    assert (ended.execution.status, ended.task.status) == ("completed", "in_progress")
    assert "#2" in str(ended.task.status_reason)


def test_a_session_on_a_task_that_is_over_leaves_it_so(shop: Shop) -> None:
    work = shop.kit.board.work_sessions
    task = shop.walk(shop.task(), "in_progress", "done")
    assert work.start(shop.here, task.number).task.status == "done"
    assert work.end(shop.here, 1, 1).task.status == "done"


def test_a_refused_start_changes_nothing(shop: Shop) -> None:
    work, first = shop.kit.board.work_sessions, shop.task("first")
    waiting = shop.task("waits", depends_on=[first.number])
    going = shop.walk(shop.task("going"), "in_progress")
    events = shop.events()
    with pytest.raises(TaskNotReady):
        work.start(shop.here, waiting.number)
    with pytest.raises(AgentNotFound):
        work.start(shop.here, first.number, "nobody")
    with pytest.raises(TaskHeld):
        work.start(shop.here, going.number, "reviewer")
    assert shop.events() == events
    assert work.list(shop.here).items == []


def test_an_unknown_or_ended_session_can_not_be_ended(shop: Shop) -> None:
    work = shop.kit.board.work_sessions
    made = work.start(shop.here, shop.task().number)
    for reference in (99, "99", "exec_nothing", "", "x"):
        with pytest.raises(SessionNotFound):
            work.end(shop.here, reference, 0)
    with pytest.raises(InvalidValue, match="whole number"):
        work.end(shop.here, 1, 10**20)
    work.end(shop.here, made.execution.id, 0)
    with pytest.raises(IllegalTransition):
        work.end(shop.here, 1, 0)


def test_sessions_are_listed_newest_first_by_task_and_status(shop: Shop) -> None:
    work = shop.kit.board.work_sessions
    tasks = [shop.task() for _ in range(3)]
    for task in tasks:
        shop.kit.clock.advance(seconds=1)
        work.start(shop.here, task.number)
    work.end(shop.here, 2, 1)
    assert [s.execution.number for s in work.list(shop.here).items] == [3, 2, 1]
    assert [s.execution.number for s in work.list(shop.here, task=tasks[0].number).items] == [1]
    assert [s.execution.number for s in work.list(shop.here, statuses=("failed",)).items] == [2]
    first = work.list(shop.here, limit=2)
    rest = work.list(shop.here, limit=2, cursor=first.next_cursor)
    assert [s.execution.number for s in first.items + rest.items] == [3, 2, 1]
