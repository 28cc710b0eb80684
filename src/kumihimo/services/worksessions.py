"""Work sessions: a run on a task that somebody else carries out and tells us about, as an editor does.

In the store such a session is an execution with a number. A task has one running at most.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from kumihimo.domain import execution as executions
from kumihimo.domain import text
from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import SessionAlreadyRunning, SessionNotFound, TaskNotReady
from kumihimo.domain.event import Change
from kumihimo.domain.execution import DodResult, Execution, ExecutionStatus
from kumihimo.domain.identifiers import Identifiers
from kumihimo.domain.task import Task
from kumihimo.services import agents, projects, tasks
from kumihimo.services.executions import Executions
from kumihimo.services.projects import Place
from kumihimo.services.references import by_id, number
from kumihimo.services.service import Clock, Service, command, query
from kumihimo.services.tasks import Reference, Tasks
from kumihimo.services.wish import Wish
from kumihimo.store.paging import Page, bounded
from kumihimo.store.store import Store, Transaction

DEFAULT_AGENT = "coder"


class WorkSession(msgspec.Struct, frozen=True):
    """A session with the task and the agent it belongs to."""

    execution: Execution
    task: Task
    agent: Agent


def find(transaction: Transaction, place: Place, reference: Reference) -> Execution:
    """By number in the project where the caller stands, or by the id of the execution."""
    if isinstance(reference, str) and reference.startswith("exec_"):
        found = by_id(transaction.executions, "exec_", reference)
    else:
        wanted = number(reference)
        project = projects.at(transaction, place)
        found = None if wanted is None else transaction.executions.numbered(project.id, wanted)
    if found is None or found.task_id is None:
        raise SessionNotFound(str(reference)[:80])
    return found


def view(transaction: Transaction, executions: Sequence[Execution]) -> list[WorkSession]:
    works = transaction.tasks.by_ids({execution.task_id for execution in executions if execution.task_id})
    people = transaction.agents.by_ids({execution.agent_id for execution in executions})
    return [WorkSession(e, works[e.task_id], people[e.agent_id]) for e in executions if e.task_id]


class WorkSessions(Service):
    def __init__(
        self, store: Store, clock: Clock, identifiers: Identifiers, *, tasks: Tasks, executions: Executions
    ) -> None:
        super().__init__(store, clock, identifiers)
        self._tasks = tasks
        self._executions = executions

    @command
    def start(
        self, transaction: Transaction, place: Place, reference: Reference, agent: str | None = None
    ) -> WorkSession:
        """Open a session: the task gets its agent and is in progress."""
        task = tasks.locked(transaction, place, reference)
        running = transaction.executions.live_session(task.id)
        if running is not None:
            raise SessionAlreadyRunning(task.number, running.number)
        worker = agents.find(transaction, agent or task.assignee_id or DEFAULT_AGENT)
        task = self._tasks.begin(task, worker)
        execution = self._executions.enqueue(Wish(worker, "session", task=task, numbered=True))
        if execution is None:
            # A worker's run came in between: the unique index decides.
            raise SessionAlreadyRunning(task.number, None)
        change = execution.start(self.clock())
        transaction.executions.save(change)
        return WorkSession(change.value, task, worker)

    @command
    def end(
        self,
        transaction: Transaction,
        place: Place,
        reference: Reference,
        exit_code: int,
        *,
        signal: str | None = None,
        dod_result: DodResult | None = None,
        artifacts: Sequence[str] = (),
        error: str | None = None,
    ) -> WorkSession:
        """What became of it. The exit is a fact and is always kept; what it means for the task follows the rules."""
        exit_code = executions.exit_code(exit_code)
        found = find(transaction, place, reference)
        execution = transaction.executions.lock(found.id) or found
        if execution.origin == "worker" and execution.live:
            # It is followed to its end here: to call it over would leave its agent at work, and nobody watching.
            work = transaction.tasks.get(execution.task_id or "")
            raise TaskNotReady(work.number if work else 0, "run_here", run=execution.id)
        facts: dict[str, object] = {
            "signal": None if signal is None else text.line("signal", signal, 40),
            "dod_result": dod_result,
            "artifacts": tuple(text.line("artifacts", path, 4_000) for path in artifacts),
            "error": text.long_or_none("error", error),
        }
        change = self._ended(execution, exit_code, facts)
        transaction.executions.save(change)
        task = self._settle(transaction, change.value, error)
        return WorkSession(change.value, task, agents.find(transaction, execution.agent_id))

    @query
    def list(
        self,
        transaction: Transaction,
        place: Place,
        *,
        task: Reference | None = None,
        statuses: Collection[ExecutionStatus] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[WorkSession]:
        """Newest first."""
        project = projects.at(transaction, place)
        page = transaction.executions.page(
            project_id=project.id,
            task_id=None if task is None else tasks.find(transaction, place, task).id,
            statuses=statuses,
            numbered=True,
            limit=bounded(limit),
            cursor=cursor,
        )
        return Page(view(transaction, page.items), page.next_cursor)

    @query
    def show(self, transaction: Transaction, place: Place, reference: Reference) -> WorkSession:
        return view(transaction, [find(transaction, place, reference)])[0]

    @query
    def latest(self, transaction: Transaction, place: Place, reference: Reference) -> WorkSession:
        """The newest session of a task. SessionNotFound where it never had one."""
        task = tasks.find(transaction, place, reference)
        page = transaction.executions.page(task_id=task.id, numbered=True, limit=1)
        if not page.items:
            raise SessionNotFound(str(reference)[:80])
        return view(transaction, page.items)[0]

    def _ended(self, execution: Execution, exit_code: int, facts: dict[str, object]) -> Change[Execution]:
        now = self.clock()
        if execution.status == "queued":
            execution = execution.start(now).value
        if exit_code == 0:
            return execution.complete(now, **facts)
        reason = "signalled" if facts["signal"] else "exited"
        return execution.fail(reason, now, exit_code=exit_code, **facts)

    def _settle(self, transaction: Transaction, execution: Execution, error: str | None) -> Task:
        """0 and merged is done, 0 alone leaves the task in progress, anything else blocks it."""
        assert execution.task_id is not None, "only sessions of tasks are found here"
        task = transaction.tasks.lock(execution.task_id)
        assert task is not None, "a session's task is a foreign key"
        if task.status != "in_progress":
            return task
        if execution.exit_code != 0:
            return self._tasks.move(task, "blocked", reason=error or f"exit code {execution.exit_code}")
        if execution.dod_result != "merged":
            return task
        try:
            return self._tasks.move(task, "done", forced=True)
        except TaskNotReady as refusal:
            change = task.edit(self.clock(), status_reason=str(refusal))
            transaction.tasks.save(change)
            return change.value
