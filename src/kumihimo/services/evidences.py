"""Evidence: what a run left behind, and what follows from it for its task."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kumihimo.domain.errors import TaskNotReady
from kumihimo.domain.event import Change
from kumihimo.domain.evidence import ComingConflict, Evidence
from kumihimo.domain.execution import DodResult, Execution
from kumihimo.domain.identifiers import Identifiers
from kumihimo.domain.task import ENDED, Task
from kumihimo.services.executions import find
from kumihimo.services.service import Clock, Service, command, lookup
from kumihimo.services.tasks import Tasks
from kumihimo.store.store import Store, Transaction

# A reason is for reading: a thousand files are not.
_NAMED = 20


def listed(files: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return ", ".join(files[:_NAMED]) + more


def objection(evidence: Evidence) -> str | None:
    """What speaks against a run, in a sentence; None where nothing does."""
    if evidence.violations:
        return f"files outside its scope were changed: {listed(evidence.violations)}"
    failed = evidence.failed_checks
    if not failed:
        return None
    told = "; ".join(f"`{check.command}` {_ending(check.status, check.exit_code)}" for check in failed)
    return f"checks did not pass: {told}"


def _ending(status: str, exit_code: int | None) -> str:
    if status == "failed":
        return f"ended with exit code {exit_code}"
    return "ran out of time" if status == "timed_out" else "was not run"


class Evidences(Service):
    def __init__(self, store: Store, clock: Clock, identifiers: Identifiers, *, tasks: Tasks) -> None:
        super().__init__(store, clock, identifiers)
        self._tasks = tasks

    @lookup
    def of(self, transaction: Transaction, execution_id: str) -> Evidence | None:
        return transaction.evidence.get(execution_id)

    @lookup
    def anything_to_look_at(self, transaction: Transaction, host_id: str) -> bool:
        """Whether this host has runs whose traces are to be looked at, or that are under way in a worktree or a shell."""
        return transaction.executions.anything_to_look_at(host_id)

    @lookup
    def unverified(self, transaction: Transaction, host_id: str) -> list[Execution]:
        """Runs whose traces are still to be looked at on this host."""
        return transaction.executions.unverified(host_id)

    @lookup
    def under_way(self, transaction: Transaction, host_id: str) -> list[Execution]:
        """Runs of this host that are changing a worktree now."""
        return transaction.executions.in_worktrees(host_id)

    @command
    def foresee(self, transaction: Transaction, execution_id: str, conflicts: tuple[ComingConflict, ...]) -> None:
        """Which other runs would conflict with this one. Written only where that is news."""
        known = transaction.evidence.get(execution_id)
        if known is None and not conflicts:
            return
        run = transaction.executions.get(execution_id)
        if run is None or (known is not None and known.conflicts == conflicts):
            return
        now = self.clock()
        transaction.evidence.put((known or Evidence(run.id, run.base, None, now)).foresee(conflicts, now))

    @command
    def verify(self, transaction: Transaction, execution_id: str, evidence: Evidence) -> Task | None:
        """What was found. The task moves as the facts demand; what is decided already stays."""
        found = find(transaction, execution_id)
        run = transaction.executions.lock(found.id) or found
        now = self.clock()
        known = transaction.evidence.get(run.id)
        kept = known.conflicts if known else ()
        transaction.evidence.put(Change(msgspec.structs.replace(evidence, conflicts=kept), "evidence.found", now))
        if not run.unverified:
            return None
        transaction.executions.save(run.verify(now, dod_result=run.dod_result or _dod_result(run, evidence)))
        return self._settle(transaction, run, evidence)

    @command
    def merged(self, transaction: Transaction, execution_id: str, evidence: Evidence) -> Task | None:
        """Its work is in its target: the task is done, wherever it was sent in the meantime."""
        run = self._keep(transaction, execution_id, evidence)
        transaction.executions.save(run.merge(self.clock()))
        task = transaction.tasks.lock(run.task_id) if run.task_id else None
        if task is None or task.status in ENDED:
            return task
        for step in ("todo", "in_progress") if task.status == "backlog" else ("in_progress",):
            task = self._tasks.move(task, step)
        return self._finish(transaction, task)

    @command
    def refuse(self, transaction: Transaction, execution_id: str, evidence: Evidence, reason: str) -> Task | None:
        """Its work can't be merged as it is: back to the task with it."""
        run = self._keep(transaction, execution_id, evidence)
        result = "timeout" if any(check.status == "timed_out" for check in evidence.checks) else "error"
        transaction.executions.save(run.verify(self.clock(), dod_result=result))
        task = transaction.tasks.lock(run.task_id) if run.task_id else None
        if task is None or task.status not in ("in_progress", "blocked"):
            return task
        if task.status == "in_progress":
            return self._tasks.move(task, "blocked", reason=reason)
        change = task.edit(self.clock(), status_reason=reason)
        transaction.tasks.save(change)
        return change.value

    def _keep(self, transaction: Transaction, execution_id: str, evidence: Evidence) -> Execution:
        found = find(transaction, execution_id)
        run = transaction.executions.lock(found.id) or found
        known = transaction.evidence.get(run.id)
        kept = evidence if evidence.checks or known is None else msgspec.structs.replace(evidence, checks=known.checks)
        transaction.evidence.put(Change(kept, "evidence.found", self.clock()))
        return run

    def _settle(self, transaction: Transaction, run: Execution, evidence: Evidence) -> Task | None:
        if run.task_id is None or run.origin == "group":
            return None
        task = transaction.tasks.lock(run.task_id)
        if task is None or task.status != "in_progress" or transaction.executions.live_on_task(task.id):
            return task
        if transaction.executions.is_overtaken(run):
            # What becomes of the task is for the run that followed, also when that one is over.
            return task
        objected = objection(evidence)
        if objected is not None:
            return self._tasks.move(task, "blocked", reason=objected)
        decided = run.branch is None or (evidence.merged is not None and evidence.commits)
        if not run.succeeded or not decided or task.claimed_by != run.id:
            return task
        return self._finish(transaction, task)

    def _finish(self, transaction: Transaction, task: Task) -> Task:
        """The facts are there: done, unless something below it is still open."""
        try:
            return self._tasks.move(task, "done", forced=True)
        except TaskNotReady as refusal:
            change = task.edit(self.clock(), status_reason=str(refusal))
            transaction.tasks.save(change)
            return change.value


def _dod_result(run: Execution, evidence: Evidence) -> DodResult | None:
    if not run.succeeded:
        return None
    if evidence.violations:
        return "error"
    statuses = {check.status for check in evidence.checks}
    if "timed_out" in statuses:
        return "timeout"
    return "pending" if statuses <= {"passed"} else "error"
