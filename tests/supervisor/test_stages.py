"""Stages: whoever ends in the same instant, the next one starts once. On both databases, with real races."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from kumihimo.app import now
from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.execution import Execution, Report
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.services.groups import Errand, Limits, Plan
from kumihimo.store.store import open_store

from .racers import Job, Racers

ROUNDS = 25
LIMITS = Limits(10_000)


@pytest.fixture
def board(database: str) -> Iterator[Board]:
    made = Board(open_store(database), now, Identifiers(os.urandom))
    made.projects.init("/srv/shop", git=False)
    yield made
    made.store.close()


@pytest.fixture
def racers(board: Board, database: str) -> Iterator[Racers]:
    made = Racers(database, 6)
    yield made
    made.close()


def plan(board: Board, *sizes: int, on_failure: str = "continue") -> Plan:
    """The first stage is running."""
    group = board.groups.create("plan", mode="sequential")
    stages = [[Errand("coder", "go", "/srv/shop")] * size for size in sizes]
    made = board.groups.plan(group.id, stages, LIMITS, on_failure=on_failure)  # type: ignore[arg-type]
    for run in made.stages[0]:
        board.executions.start(run.id, 0)
    return made


def said(status: str = "success", summary: str = "done") -> Report:
    return Report(status, summary, now())  # type: ignore[arg-type]


def complete(run: Execution) -> Job:
    return lambda board: board.executions.complete(run.id, 0)


def fail(run: Execution) -> Job:
    return lambda board: board.executions.fail(run.id, 0, "exited", exit_code=1)


def report(run: Execution, status: str = "success") -> Job:
    return lambda board: board.executions.report(run.id, said(status))


def stop(run: Execution) -> Job:
    return lambda board: board.executions.stop(run.id)


def refused(answers: list[object]) -> list[object]:
    return [answer for answer in answers if isinstance(answer, KumihimoError)]


def happened(board: Board) -> Counter[tuple[str, str]]:
    """How often each thing came to be what."""
    found: Counter[tuple[str, str]] = Counter()
    cursor: str | None = None
    while events := board.store.events_after(cursor, 500):
        cursor = events[-1].cursor
        found.update((event.subject, event.kind) for event in events)
    return found


def statuses(board: Board, runs: list[Execution]) -> list[str]:
    return [board.executions.show(run.id).status for run in runs]


def require_started_once(board: Board, plans: list[Plan]) -> None:
    events = happened(board)
    for made in plans:
        assert events[made.group.id, "group.stage_advanced"] == 1
        assert [events[run.id, "execution.reached"] for run in made.stages[1]] == [1] * len(made.stages[1])


def test_three_that_end_in_the_same_instant_start_the_next_stage_once(board: Board, racers: Racers) -> None:
    plans = [plan(board, 3, 2) for _ in range(ROUNDS)]
    for made in plans:
        assert refused(racers.together([complete(run) for run in made.stages[0]])) == []
        assert statuses(board, made.stages[1]) == ["queued"] * 2
    require_started_once(board, plans)


def test_reports_and_ends_of_the_same_runs_at_once_start_the_next_stage_once(board: Board, racers: Racers) -> None:
    plans = [plan(board, 3, 2) for _ in range(ROUNDS)]
    for made in plans:
        one, two, three = made.stages[0]
        jobs = [complete(one), report(one), fail(two), report(two), complete(three), report(three, "failure")]
        assert refused(racers.together(jobs)) == []
        assert statuses(board, made.stages[1]) == ["queued"] * 2
        assert all(board.executions.show(run.id).report for run in made.stages[0])
    require_started_once(board, plans)


def test_a_failure_among_three_at_once_gives_up_the_rest_once(board: Board, racers: Racers) -> None:
    plans = [plan(board, 3, 2, 1, on_failure="stop") for _ in range(ROUNDS)]
    for made in plans:
        one, two, three = made.stages[0]
        assert refused(racers.together([complete(one), fail(two), complete(three)])) == []
        assert statuses(board, [*made.stages[1], *made.stages[2]]) == ["cancelled"] * 3
    events = happened(board)
    for made in plans:
        assert events[made.group.id, "group.stage_advanced"] == 0
        assert [events[run.id, "execution.cancelled"] for run in (*made.stages[1], *made.stages[2])] == [1] * 3


def test_a_stage_that_was_cancelled_while_it_waited_is_passed_over(board: Board) -> None:
    made = plan(board, 1, 2, 1)
    for run in made.stages[1]:
        board.executions.stop(run.id)
    board.executions.complete(made.stages[0][0].id, 0)
    assert statuses(board, made.stages[2]) == ["queued"]
    assert board.groups.show(made.group.id).stage == 2


def test_a_plan_whose_every_later_stage_was_cancelled_just_ends(board: Board) -> None:
    made = plan(board, 1, 1, 1)
    for stage in made.stages[1:]:
        board.executions.stop(stage[0].id)
    board.executions.complete(made.stages[0][0].id, 0)
    assert statuses(board, [run for stage in made.stages[1:] for run in stage]) == ["cancelled"] * 2


def test_a_stage_cancelled_in_the_instant_in_which_it_begins_lets_the_one_after_it_begin(
    board: Board, racers: Racers
) -> None:
    plans = [plan(board, 2, 2, 1) for _ in range(ROUNDS)]
    for made in plans:
        answers = racers.together([*map(complete, made.stages[0]), *map(stop, made.stages[1])])
        assert refused(answers) == []
        assert statuses(board, made.stages[1]) == ["cancelled"] * 2
        assert statuses(board, made.stages[2]) == ["queued"]
    events = happened(board)
    for made in plans:
        assert events[made.group.id, "group.stage_advanced"] == 2
        assert events[made.stages[2][0].id, "execution.reached"] == 1


def test_a_report_that_comes_after_the_end_changes_no_stage(board: Board) -> None:
    """A plan that was given up stays so, whatever a run that was lost has still to say."""
    made = plan(board, 1, 1, 1, on_failure="stop")
    (first,) = made.stages[0]
    board.executions.lose(first.id, 0)
    later = [run for stage in made.stages[1:] for run in stage]
    assert statuses(board, later) == ["cancelled"] * 2
    group = board.groups.show(made.group.id)
    board.executions.report(first.id, said())
    assert board.groups.show(made.group.id) == group
    assert statuses(board, [first, *later]) == ["lost", "cancelled", "cancelled"]


def test_a_second_report_that_says_something_else_is_refused_whoever_is_first(board: Board, racers: Racers) -> None:
    for _ in range(ROUNDS):
        made = plan(board, 1)
        (run,) = made.stages[0]
        words = ["one", "two", "three"]
        answers = racers.together(
            [lambda board, word=word: board.executions.report(run.id, said(summary=word)) for word in words]  # noqa: B023
        )
        assert [answer.code for answer in refused(answers)] == ["ReportRefused"] * 2  # type: ignore[attr-defined]
        kept = board.executions.show(run.id).report
        assert kept is not None
        assert [kept.summary] == [
            word for word, answer in zip(words, answers, strict=True) if not isinstance(answer, KumihimoError)
        ]
