"""Handoffs from runs of every kind, live and dead, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo.domain.errors import AgentNotFound, ExecutionNotFound, InvalidValue, TaskNotFound
from kumihimo.domain.execution import Execution, Origin
from kumihimo.domain.observation import Observation, ToolUse
from kumihimo.domain.proof import CheckResult, Proof
from kumihimo.domain.task import Task
from kumihimo.engine.processes.proofs import NAME, write_proof
from kumihimo.services.run_handoffs import create_from_run, newest_draft
from kumihimo.services.wish import Wish
from tests.services.conftest import Shop


def running(shop: Shop, origin: Origin, task: Task | None, log: Path | None = None) -> Execution:
    runs = shop.kit.board.executions
    wish = Wish(shop.coder, origin, prompt="go", project_id=shop.project.id, task=task, working_directory="/srv/shop")
    made = runs.enqueue(wish)
    assert made is not None
    return runs.start(made.id, 0, log_path=str(log) if log else None)


def log_of(folder: Path, *lines: str) -> tuple[Path, int]:
    folder.mkdir(exist_ok=True)
    written = "".join(f"{line}\n" for line in lines).encode()
    (folder / "out").write_bytes(written)
    return folder / "out", len(written)


@pytest.mark.parametrize("origin", ["group", "worker", "session", "instance"])
@pytest.mark.parametrize("alive", [True, False], ids=["live", "dead"])
def test_a_run_of_any_kind_can_be_handed_over(shop: Shop, origin: Origin, alive: bool) -> None:
    board, task = shop.kit.board, shop.task()
    run = running(shop, origin, None if origin == "group" else task)
    board.executions.observe([Observation(run.id, last_message="half", edited_files=("a.py",))])
    board.contexts.save(shop.here, task.id, progress="half way", next_steps="the other half")
    if not alive:
        board.executions.fail(run.id, 0, "signalled", exit_code=137, signal="SIGKILL")
    made = create_from_run(board, shop.here, run.id, task=task.number, to_agent="reviewer").handoff
    assert (made.from_agent_id, made.to_agent_id, made.task_id) == (shop.coder.id, shop.reviewer.id, task.id)
    assert "half" in made.summary
    assert made.context is not None
    assert "half way" in made.context
    assert "a.py (edited)" in made.context
    assert made.next_steps == ("the other half",)
    assert made.warnings[0] == (
        "It has not ended: still at work." if alive else "It did not end by itself: failed (signalled, SIGKILL)."
    )
    assert board.handoffs.latest(shop.here, task.id) == made
    assert [view.handoff.id for view in board.handoffs.pending(agent="reviewer")] == [made.id]


def test_the_task_is_the_runs_own_where_none_is_named(shop: Shop) -> None:
    board, task = shop.kit.board, shop.task()
    run = running(shop, "worker", task)
    assert create_from_run(board, shop.here, run.id[:-1]).task.id == task.id
    with pytest.raises(InvalidValue, match="task"):
        create_from_run(board, shop.here, running(shop, "group", None).id)


def test_what_is_given_is_said_in_place_of_what_was_found(shop: Shop) -> None:
    board, task = shop.kit.board, shop.task()
    run = running(shop, "worker", task)
    made = create_from_run(
        board, shop.here, run.id, from_agent="writer", summary="My words", context="", recommendations="Mine",
        next_steps=["first"], warnings=["mind"],
    )  # fmt: skip
    handoff = made.handoff
    assert (handoff.summary, handoff.context, handoff.recommendations) == ("My words", "", "Mine")
    assert made.from_agent.name == "writer"
    assert (handoff.next_steps[0], handoff.warnings[0]) == ("first", "mind")
    assert len(handoff.warnings) == 2


def test_the_end_of_the_log_is_told_as_far_as_secrets_are_struck_out_of_it(shop: Shop, tmp_path: Path) -> None:
    board, task = shop.kit.board, shop.task()
    log, seen = log_of(tmp_path / "run", *(f"line {n}" for n in range(1, 31)))
    with log.open("ab") as file:
        file.write(b"a secret that nobody has looked at\n")
    run = running(shop, "worker", task, log)
    board.executions.observe([Observation(run.id, position=seen, recent_tools=(ToolUse("shell"),))])
    context = create_from_run(board, shop.here, run.id).handoff.context
    assert context is not None
    lines = context[context.index("## The end of its log") :].splitlines()[2:]
    assert lines == [f"    line {n}" for n in range(11, 31)]


def test_a_log_that_is_long_has_its_end_told_and_one_that_is_gone_nothing(shop: Shop, tmp_path: Path) -> None:
    board, task = shop.kit.board, shop.task()
    log, seen = log_of(tmp_path / "run", "x" * 500_000, "first", "y" * 100_000, "last")
    run = running(shop, "worker", task, log)
    board.executions.observe([Observation(run.id, position=seen)])
    context = create_from_run(board, shop.here, run.id).handoff.context
    assert context is not None
    assert context.endswith("    last")
    assert "xxx" not in context
    log.unlink()
    context = create_from_run(board, shop.here, run.id).handoff.context
    assert context is not None
    assert "log" not in context


def test_checks_that_failed_are_told_where_there_is_a_proof(shop: Shop, tmp_path: Path) -> None:
    board, task = shop.kit.board, shop.task()
    log, _ = log_of(tmp_path / "run")
    run = running(shop, "worker", task, log)
    board.executions.complete(run.id, 0)
    proof = Proof(
        run=run.id,
        client="codex",
        prompt_sha256="0" * 64,
        status="completed",
        checks=(CheckResult("make test", "failed", 2),),
        made_at=shop.kit.clock(),
        version="1",
    )
    write_proof(log.parent, proof)
    made = create_from_run(board, shop.here, run.id).handoff
    assert made.warnings == ("A check is failed (exit code 2): make test",)
    assert made.next_steps == ("Make this check pass: make test",)
    (log.parent / NAME).write_text("{")
    assert "can't be read" in create_from_run(board, shop.here, run.id).handoff.warnings[0]


def test_a_log_that_an_agent_has_named_itself_is_not_read(shop: Shop, tmp_path: Path) -> None:
    """Its folder is no folder of ours, and what lies there is no proof."""
    board, task = shop.kit.board, shop.task()
    log, seen = log_of(tmp_path / "private", "somebody's letters")
    (log.parent / NAME).write_text("{")
    run = running(shop, "instance", task, log)
    board.executions.observe([Observation(run.id, position=seen)])
    made = create_from_run(board, shop.here, run.id).handoff
    assert "letters" not in (made.context or "")
    assert made.warnings == ("It has not ended: still at work.",)


def test_what_is_not_there_is_refused_and_nothing_is_written(shop: Shop) -> None:
    board, task = shop.kit.board, shop.task()
    run = running(shop, "worker", task)
    events = shop.events()
    with pytest.raises(ExecutionNotFound):
        create_from_run(board, shop.here, "exec_nothing", task=task.number)
    with pytest.raises(TaskNotFound):
        create_from_run(board, shop.here, run.id, task=999)
    with pytest.raises(AgentNotFound):
        create_from_run(board, shop.here, run.id, to_agent="nobody")
    with pytest.raises(InvalidValue):
        create_from_run(board, shop.here, run.id, summary=" ")
    assert shop.events() == events


def test_an_agent_that_was_archived_can_still_have_its_work_handed_over(shop: Shop) -> None:
    board, task = shop.kit.board, shop.task()
    run = running(shop, "worker", task)
    board.executions.lose(run.id, 0)
    board.agents.archive("coder")
    assert create_from_run(board, shop.here, run.id, to_agent="reviewer").from_agent.name == "coder"


def test_the_newest_run_of_the_giver_is_what_a_draft_is_made_from(shop: Shop) -> None:
    board, task = shop.kit.board, shop.task()
    assert newest_draft(board, shop.here, task.id, "coder") is None
    for words in ("first", "second"):
        run = running(shop, "instance", task)
        board.executions.observe([Observation(run.id, last_message=words)])
        board.executions.lose(run.id, 0)
        shop.kit.clock.advance(seconds=1)
    found = newest_draft(board, shop.here, task.id, shop.coder.id)
    assert found is not None
    assert "second" in found.summary
    assert newest_draft(board, shop.here, task.id, "reviewer") is None
    assert newest_draft(board, shop.here, task.id, "nobody") is None
