"""Settling: what the end of a worker's run means for its task, in the very transaction that writes the end down."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from kumihimo.domain.execution import Execution
from kumihimo.domain.task import Task
from kumihimo.services.wish import Wish
from kumihimo.store.store import Transaction

Enqueue = Callable[[Wish], Execution | None]
_NOT_THE_FIRST = "You are not the first on this task."
_LONGEST_REASON = 500


def settle_task(transaction: Transaction, run: Execution, now: datetime, enqueue: Enqueue) -> None:
    """A success is a claim until its traces were looked at. Anything else is followed by another run, where the policy of the
    task says so; else it blocks the task and says why."""
    ours = run.origin == "worker" or (run.origin == "session" and run.status == "cancelled")
    if not ours or run.task_id is None or run.live:
        return
    task = transaction.tasks.lock(run.task_id)
    if task is None or task.status != "in_progress":
        return
    if run.succeeded:
        transaction.tasks.save(task.claim(run.id, now))
    elif _tried_again(transaction, run, task, enqueue) is None:
        tries = f" (tried {run.attempt + 1} times)" if run.attempt else ""
        transaction.tasks.save(task.move("blocked", now, f"{why(run)}{tries}"))


def _tried_again(transaction: Transaction, run: Execution, task: Task, enqueue: Enqueue) -> Execution | None:
    """The run that follows, under a claim of its own: the one before is over for good. It needs no place but the folder that
    the one before had, or waits until a host has made one."""
    # Who has given the task to somebody else meanwhile has decided more than a policy may.
    if run.origin != "worker" or task.assignee_id != run.agent_id or not task.retry.allows(run):
        return None
    agent = transaction.agents.get(run.agent_id)
    if agent is None or agent.status != "active":
        return None
    placed = run.worktree is None and run.working_directory is not None
    wish = Wish(
        agent,
        "worker",
        begun_before(run, run.prompt) if placed else "",
        task=task,
        numbered=True,
        planned=not placed,
        client=run.client,
        model=run.model,
        working_directory=run.working_directory if placed else None,
        timeout_ms=run.timeout_ms,
        previous_id=run.id,
        auto=run.auto,
        skip_checks=run.skip_checks,
        host=task.host,
        attempt=run.attempt + 1,
        writes=run.writes if placed else (),
    )
    return enqueue(wish)


def begun_before(run: Execution, prompt: str) -> str:
    """The prompt of whoever comes after a run that did not end well: what became of that one, and then all the rest."""
    reason = " ".join(why(run).split())[:_LONGEST_REASON]
    # It may have come after another itself: only the last one matters.
    rest = prompt.partition("\n\n")[2] if prompt.startswith(_NOT_THE_FIRST) else prompt
    told = (
        f"{_NOT_THE_FIRST} The run before you ({run.id}) did not end well: {reason}. What it has done may be in this folder: "
        "look at that first, and go on from there."
    )
    return f"{told}\n\n{rest}"


def why(run: Execution) -> str:
    """Why a run was no success, in a few words."""
    report = run.report
    if report is not None and report.status != "success":
        return report.error_message or report.summary or report.status
    if run.status == "cancelled":
        return f"the run {run.id} was stopped"
    words = run.error or run.failure_reason or run.status
    code = f" (exit code {run.exit_code})" if run.exit_code else ""
    return f"{words}{code}"
