from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import pytest

from kumihimo.domain import execution, task
from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import IllegalTransition
from kumihimo.domain.execution import Execution
from kumihimo.domain.task import Task

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# As the design has it, written down apart from the table.
TASK_MOVES = {
    "backlog": {"todo", "cancelled"},
    "todo": {"in_progress", "backlog", "cancelled"},
    "in_progress": {"done", "blocked", "todo", "cancelled"},
    "blocked": {"in_progress", "todo", "cancelled"},
    "done": set[str](),
    "cancelled": set[str](),
}


def a_task(status: str) -> Task:
    return Task("tsk_1", 1, "prj_1", "t", "", status, None, "medium", "task", None, None, None, (), Scope(), NOW, NOW)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("before", "after"), [pair for pair in product(TASK_MOVES, repeat=2) if pair[0] != pair[1]])
def test_a_task_moves_only_where_the_table_leads(before: str, after: str) -> None:
    if after in TASK_MOVES[before]:
        change = a_task(before).move(after, NOW, "because")
        assert (change.value.status, change.value.status_reason, change.kind) == (after, "because", "task.moved")
    else:
        with pytest.raises(IllegalTransition) as refusal:
            a_task(before).move(after, NOW)
        assert refusal.value.facts["state"] == before


def test_an_execution_that_ended_stays_ended() -> None:
    ended = set(execution.STATES.states()) - execution.LIVE
    assert ended == {"completed", "failed", "timed_out", "cancelled", "lost"}
    assert all(not execution.STATES.actions(state) for state in ended)


def an_execution() -> Execution:
    return Execution(
        "exec_1", None, None, None, "agt_1", None, None, "group", "codex", None, "", None, None, "queued", NOW
    )


def test_each_claim_has_a_greater_fence_than_the_one_before() -> None:
    first = an_execution().claim("host-a", NOW, NOW).value
    second = first.release(NOW).value.claim("host-b", NOW, NOW).value
    assert (first.fence, second.fence, second.owner) == (1, 2, "host-b")


def test_a_run_that_ends_says_how_long_it_took_and_is_nobodys_any_more() -> None:
    running = an_execution().claim("host-a", NOW, NOW).value.start(NOW).value
    ended = running.complete(NOW.replace(second=3)).value
    assert (ended.status, ended.duration_ms, ended.exit_code, ended.owner, ended.lease_until) == (
        "completed", 3000, 0, None, None,
    )  # fmt: skip


def test_every_state_of_a_table_can_be_reached() -> None:
    for table in (task.STATES, execution.STATES):
        reached = set(table.initial)
        while more := {after for (before, _), after in table.rows.items() if before in reached} - reached:
            reached |= more
        assert reached == set(table.states())
