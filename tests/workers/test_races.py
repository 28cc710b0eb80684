"""Several who want a worker for one task at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from kumihimo.app import now
from kumihimo.domain.errors import KumihimoError, SessionAlreadyRunning
from kumihimo.domain.execution import Execution
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services import working
from kumihimo.services.board import Board
from kumihimo.services.workers import Kind, Request
from kumihimo.services.working import prepare
from kumihimo.store.store import open_store
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop

TOGETHER = 4
ROUNDS = 3
Outcome = Execution | KumihimoError


def at_once(workshop: Workshop, number: int, kinds: list[Kind]) -> list[Outcome]:
    """What each of them gets, who all ask in the same moment."""
    barrier = Barrier(len(kinds))

    def ask(kind: Kind) -> Outcome:
        board = Board(open_store(workshop.database), now, Identifiers(os.urandom))
        try:
            barrier.wait(timeout=60)
            return prepare(board, workshop.settings, workshop.place, Request(number, kind)).execution
        except KumihimoError as error:
            return error
        finally:
            board.store.close()

    with ThreadPoolExecutor(len(kinds)) as pool:
        return [done.result(timeout=60) for done in [pool.submit(ask, kind) for kind in kinds]]


def live_on(workshop: Workshop, number: int) -> list[Execution]:
    return [run for run in workshop.board.executions.list(task_id=workshop.see(number).id, limit=100).items if run.live]


def test_of_several_workers_that_are_wanted_at_once_a_task_gets_one_in_one_worktree(
    database: str, open_workshop: OpenWorkshop
) -> None:
    opened = open_workshop(database, up=False)
    for _ in range(ROUNDS):
        number = opened.task()
        outcomes = at_once(opened, number, ["worker"] * TOGETHER)
        (run,) = live_on(opened, number)
        won = [outcome for outcome in outcomes if isinstance(outcome, Execution)]
        # Who comes while its place is being made helps with it, and is told of the same one.
        assert {one.id for one in won} == {run.id}
        lost = [outcome for outcome in outcomes if not isinstance(outcome, Execution)]
        assert all(isinstance(one, SessionAlreadyRunning) for one in lost), lost
        assert (run.status, opened.see(number).status) == ("queued", "in_progress")
        assert [name for name in opened.worktree_names() if name == f"task-{number}"] == [f"task-{number}"]
        assert [branch for branch in opened.branches() if branch.startswith(f"task-{number}-")] == [run.branch]
        with pytest.raises(SessionAlreadyRunning):
            prepare(opened.board, opened.settings, opened.place, Request(number, "worker"))


def test_of_several_commands_that_are_asked_for_at_once_all_are_of_the_same_session(
    database: str, open_workshop: OpenWorkshop
) -> None:
    opened = open_workshop(database, up=False)
    for _ in range(ROUNDS):
        number = opened.task()
        outcomes = at_once(opened, number, ["session"] * TOGETHER)
        (run,) = live_on(opened, number)
        assert [outcome.id for outcome in outcomes if isinstance(outcome, Execution)] == [run.id] * TOGETHER, outcomes
        assert {outcome.worktree for outcome in outcomes if isinstance(outcome, Execution)} == {run.worktree}
        assert [branch for branch in opened.branches() if branch.startswith(f"task-{number}-")] == [run.branch]


def test_a_worker_and_a_session_that_are_wanted_at_once_never_are_two(
    database: str, open_workshop: OpenWorkshop
) -> None:
    opened = open_workshop(database, up=False)
    for _ in range(ROUNDS):
        number = opened.task()
        outcomes = at_once(opened, number, ["worker", "session", "worker", "session"])
        (run,) = live_on(opened, number)
        assert run.status == "queued"
        assert run.worktree is not None
        assert opened.worktrees.holder(f"task-{number}") == run.id
        # Whoever was given one can begin in it, or it made room for who came after.
        for outcome in outcomes:
            if isinstance(outcome, Execution):
                assert outcome.status == "queued"
                assert outcome.worktree == run.worktree


def test_who_makes_room_for_another_kind_of_worker_meanwhile_is_told_so(
    open_workshop: OpenWorkshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_workshop(up=False)
    number = opened.task()
    ready: Callable[..., object] = working._ready
    others: list[Execution] = []

    def interrupted(*args: object) -> object:
        if not others:
            monkeypatch.setattr(working, "_ready", ready)
            board = Board(open_store(opened.database), now, Identifiers(os.urandom))
            others.append(prepare(board, opened.settings, opened.place, Request(number, "worker")).execution)
            board.store.close()
        return ready(*args)

    monkeypatch.setattr(working, "_ready", interrupted)
    with pytest.raises(SessionAlreadyRunning):
        prepare(opened.board, opened.settings, opened.place, Request(number, "session"))
    assert [run.id for run in live_on(opened, number)] == [others[0].id]
    assert opened.worktrees.holder(f"task-{number}") == others[0].id


def test_a_command_that_is_pasted_by_two_at_once_starts_one_agent(database: str, open_workshop: OpenWorkshop) -> None:
    opened = open_workshop(database)
    command, run = opened.session(opened.task(opened.script("only").say("here")))
    both = [opened.paste(command) for _ in range(2)]
    for one in both:
        one.communicate(timeout=60)
    assert sorted(one.returncode for one in both) == [0, 6]
    assert opened.over(run).exit_code == 0
    assert len(opened.records("start", "only")) == 1
