"""Settling: what the end of a worker's run means for its task, in the very transaction that writes the end down."""

from __future__ import annotations

from datetime import datetime

from kumihimo.domain.execution import Execution
from kumihimo.store.store import Transaction


def settle_task(transaction: Transaction, run: Execution, now: datetime) -> None:
    """A success is a claim until its traces were looked at; anything else blocks the task and says why."""
    ours = run.origin == "worker" or (run.origin == "session" and run.status == "cancelled")
    if not ours or run.task_id is None or run.live:
        return
    task = transaction.tasks.lock(run.task_id)
    if task is None or task.status != "in_progress":
        return
    if run.succeeded:
        transaction.tasks.save(task.claim(run.id, now))
    else:
        transaction.tasks.save(task.move("blocked", now, why(run)))


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
