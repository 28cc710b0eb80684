"""Workers: runs on tasks, from the wish to have one to the place that is ready for it.

A task has one at most. While its place is being made the run is planned, so that nobody starts it too early and nobody
opens a second one; who asks again in the meantime goes on with it.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Literal

import msgspec

from kumihimo.domain.agent import Agent, Scope
from kumihimo.domain.errors import (
    AgentNotFound,
    ExecutionNotFound,
    InvalidValue,
    NothingToMerge,
    ScopesOverlap,
    SessionAlreadyRunning,
    SessionNotFound,
    TaskNotReady,
)
from kumihimo.domain.execution import Execution
from kumihimo.domain.identifiers import Identifiers
from kumihimo.domain.project import Project
from kumihimo.domain.task import ENDED, Task
from kumihimo.services import agents, briefs, tasks, worksessions
from kumihimo.services.briefs import Knowledge
from kumihimo.services.executions import Executions
from kumihimo.services.executions import find as find_run
from kumihimo.services.hosts import pinned
from kumihimo.services.projects import Place
from kumihimo.services.scopes import overlapping, scope_of, undeclared_beside
from kumihimo.services.service import Clock, Service, command, lookup, query
from kumihimo.services.tasks import Reference, Tasks
from kumihimo.services.wish import Wish
from kumihimo.store.store import Store, Transaction

# Whom a task without an assignee is given to: somebody called so, else the one that every project has.
DEFAULT_AGENTS = ("agent", "coder")
UNUSED_FOR = timedelta(days=1)
# To make a place takes as long as a repository is large, and not longer than this.
UNMADE_FOR = timedelta(minutes=30)
Kind = Literal["worker", "session"]


class Request(msgspec.Struct, frozen=True):
    """A worker that somebody asks for: one that we run, or a session for one that somebody else will."""

    task: Reference
    kind: Kind
    agent: str | None = None
    client: str | None = None
    model: str | None = None
    auto: bool = False
    skip_checks: bool = False
    timeout_ms: int | None = None
    host: str | None = None
    """Where it is to run: the name, the id or a label of a host."""


class Worker(msgspec.Struct, frozen=True):
    """A run on a task with everything that belongs to it."""

    execution: Execution
    task: Task
    agent: Agent
    project: Project

    def scope_with(self, agent: Agent) -> Scope:
        """What it may write, by the task and by the agent as the settings have it."""
        return scope_of(self.task, agent)


class Workers(Service):
    def __init__(
        self, store: Store, clock: Clock, identifiers: Identifiers, *, tasks: Tasks, executions: Executions
    ) -> None:
        super().__init__(store, clock, identifiers)
        self._tasks = tasks
        self._executions = executions

    @command
    def open(self, transaction: Transaction, place: Place, request: Request) -> Worker:
        """The run, planned until its place is ready. One that was asked for and not begun is given again."""
        task = tasks.locked(transaction, place, request.task)
        live = transaction.executions.live_session(task.id)
        if live is not None and not self._unused(live, request.kind):
            raise SessionAlreadyRunning(task.number, live.number)
        if live is not None and live.origin == request.kind and not self._outdated(live):
            same = self._asked_again(transaction, live, task, request)
            if same is not None:
                return self._view(transaction, same)
        if live is not None:
            self._drop(transaction, live)
        if task.status in ENDED:
            raise TaskNotReady(task.number, "over", state=task.status)
        agent = self._agent(transaction, task, request)
        if request.client is not None:
            agents.known_client(request.client)
        if live is not None and task.status == "in_progress" and task.assignee_id != agent.id:
            # Nobody has begun: it may still be given to somebody else.
            task = self._tasks.move(task, "todo")
        task = self._tasks.begin(task, agent)
        wish = Wish(
            agent,
            request.kind,
            task=task,
            numbered=True,
            planned=True,
            client=request.client,
            model=request.model if request.client in (None, agent.client) else None,
            timeout_ms=request.timeout_ms,
            auto=request.auto,
            skip_checks=request.skip_checks,
            host=pinned(transaction, request.host),
        )
        execution = self._executions.enqueue(wish)
        if execution is None:
            raise SessionAlreadyRunning(task.number, None)
        return self._view(transaction, execution)

    @command
    def ready(
        self,
        transaction: Transaction,
        execution_id: str,
        *,
        prompt: str,
        working_directory: str,
        branch: str | None = None,
        worktree: str | None = None,
        base: str | None = None,
        writes: tuple[str, ...] = (),
        host_id: str | None = None,
    ) -> Worker:
        """Its place is made: it may begin. What was made on a host that has not taken the run, or no longer has it, is not
        its place."""
        run = self._locked(transaction, execution_id)
        if run.status != "planned" or (run.attempt and run.host != host_id):
            return self._view(transaction, run)
        change = run.queue(
            self.clock(),
            prompt=prompt,
            working_directory=working_directory,
            branch=branch,
            worktree=worktree,
            base=base,
            writes=writes,
            unverified=run.origin == "worker" or worktree is not None,
        )
        transaction.executions.save(change)
        return self._view(transaction, change.value)

    @command
    def give_up(self, transaction: Transaction, execution_id: str, reason: str, host_id: str | None = None) -> None:
        """Its place could not be made. The task waits for somebody who can help."""
        run = self._locked(transaction, execution_id)
        if run.status == "planned" and not (run.attempt and run.host != host_id):
            change = run.cancel(self.clock(), error=reason, unverified=False)
            transaction.executions.save(change)
            task = transaction.tasks.lock(run.task_id or "")
            if task is not None and task.status == "in_progress":
                self._tasks.move(task, "blocked", reason=reason)

    @command
    def begin(self, transaction: Transaction, place: Place, reference: Reference, host_id: str | None) -> Worker:
        """The command of a session is being started. Only once: who pastes it again is refused."""
        found = worksessions.find(transaction, place, reference)
        run = self._locked(transaction, found.id)
        if run.origin != "session" or run.status != "queued":
            raise SessionAlreadyRunning(self._number(transaction, run), run.number)
        other = overlapping(transaction, run)
        if other is not None:
            raise ScopesOverlap(self._number(transaction, run), self._number(transaction, other), other.id)
        change = run.start(self.clock(), host_id=host_id)
        transaction.executions.save(change)
        return self._view(transaction, change.value)

    @query
    def live(self, transaction: Transaction, place: Place, reference: Reference) -> Worker | None:
        """The worker of a task that waits or is under way."""
        task = tasks.find(transaction, place, reference)
        run = transaction.executions.live_session(task.id)
        return None if run is None else self._view(transaction, run)

    @query
    def view(self, transaction: Transaction, execution_id: str) -> Worker:
        return self._view(transaction, self._existing(transaction, execution_id))

    @query
    def latest(self, transaction: Transaction, place: Place, reference: Reference) -> Worker | None:
        """The newest run of a task that had a branch of its own, or the run of that id."""
        if isinstance(reference, str) and reference.startswith("exec_"):
            found = find_run(transaction, reference)
            return None if found.task_id is None else self._view(transaction, found)
        task = tasks.find(transaction, place, reference)
        run = transaction.executions.latest_with_branch(task.id)
        return None if run is None else self._view(transaction, run)

    @query
    def candidate(
        self, transaction: Transaction, place: Place, reference: Reference
    ) -> tuple[Execution, Project, Task | None]:
        """The run whose work is meant: a run by its id, or the newest of a task that had a branch of its own."""
        if isinstance(reference, str) and reference.startswith("exec_"):
            run = find_run(transaction, reference)
            task = transaction.tasks.get(run.task_id) if run.task_id else None
        else:
            task = tasks.find(transaction, place, reference)
            live = transaction.executions.live_session(task.id)
            run = live or transaction.executions.latest_with_branch(task.id)
        project = transaction.projects.get(run.project_id) if run is not None and run.project_id else None
        if run is None or project is None:
            raise NothingToMerge(task.number if task else str(reference)[:80], "no_branch")
        return run, project, task

    @lookup
    def attended(self, transaction: Transaction, host_id: str) -> list[Execution]:
        """Sessions that were started by their command on this host and are not over."""
        return transaction.executions.attended(host_id)

    @query
    def undeclared_beside(self, transaction: Transaction, execution_id: str) -> list[int]:
        """The tasks that are being worked on and may collide with this run, because not both have said what they write."""
        found = undeclared_beside(transaction, self._existing(transaction, execution_id))
        return sorted(self._number(transaction, run) for run in found)

    @query
    def worktree_name(self, transaction: Transaction, place: Place, reference: Reference) -> tuple[Project, str]:
        """The project, and the name that the worktree of a task or a run has or had there."""
        if isinstance(reference, str) and reference.startswith("exec_"):
            run = find_run(transaction, reference)
            project, name = transaction.projects.get(run.project_id or ""), Path(run.worktree or run.id).name
        else:
            task = tasks.find(transaction, place, reference)
            run = transaction.executions.latest_with_branch(task.id)
            project = transaction.projects.get(task.project_id)
            name = Path((run and run.worktree) or f"task-{task.number}").name
        if project is None:
            raise ExecutionNotFound(str(reference)[:80])
        return project, name

    @query
    def knowledge(self, transaction: Transaction, task_id: str) -> Knowledge:
        """What is known about a task."""
        task = transaction.tasks.get(task_id)
        assert task is not None, "tasks are never removed"
        return briefs.gather(transaction, task)

    @command
    def expire_unused(self, transaction: Transaction) -> int:
        """Sessions whose command nobody has started for a day are over, and so are workers whose place was never made: who
        was making it has died, and their tasks wait for somebody who looks."""
        now = self.clock()
        found = transaction.executions.unused_sessions(now - UNUSED_FOR, now - UNMADE_FOR)
        for run in found:
            self._drop(transaction, run)
            task = transaction.tasks.lock(run.task_id or "") if run.origin == "worker" else None
            if task is not None and task.status == "in_progress":
                self._tasks.move(task, "blocked", reason="its worker was never begun")
        return len(found)

    def _asked_again(self, transaction: Transaction, live: Execution, task: Task, request: Request) -> Execution | None:
        """The one that waits, as it is wanted now; None where it is wanted with another agent. What would be refused of a
        first request is refused of this one."""
        agent = self._agent(transaction, task, request)
        if request.client is not None:
            agents.known_client(request.client)
        if live.origin != "session":
            return live
        if request.agent is not None and agent.id != live.agent_id:
            return None
        run = self._locked(transaction, live.id)
        if run.status not in ("planned", "queued"):
            raise SessionAlreadyRunning(task.number, run.number)
        client = request.client or run.client
        model = run.model if client == run.client else agent.model if client == agent.client else None
        if (client, request.auto, request.skip_checks) == (run.client, run.auto, run.skip_checks):
            return run
        change = run.want(self.clock(), client=client, model=model, auto=request.auto, skip_checks=request.skip_checks)
        transaction.executions.save(change)
        return change.value

    def _unused(self, live: Execution, kind: Kind) -> bool:
        """Whether it only waits to be begun, and so can be given again or make room."""
        if live.status == "planned":
            return True
        return live.status == "queued" and live.origin == "session" and (kind == "worker" or live.worktree is not None)

    def _outdated(self, run: Execution) -> bool:
        return run.origin == "session" and run.queued_at < self.clock() - UNUSED_FOR

    def _drop(self, transaction: Transaction, run: Execution) -> None:
        locked = self._locked(transaction, run.id)
        if locked.status in ("planned", "queued"):
            transaction.executions.save(locked.cancel(self.clock(), error="it was never begun", unverified=False))

    def _agent(self, transaction: Transaction, task: Task, request: Request) -> Agent:
        wanted = request.agent or task.assignee_id
        if wanted is not None:
            agent = agents.find(transaction, wanted)
        else:
            known = (transaction.agents.named(name) for name in DEFAULT_AGENTS)
            found = next((one for one in known if one is not None and one.status == "active"), None)
            if found is None:
                raise AgentNotFound(DEFAULT_AGENTS[-1])
            agent = found
        if agent.type != "ai" and request.kind == "worker":
            raise InvalidValue("agent", "not_an_ai", value=agent.name)
        return agent

    def _view(self, transaction: Transaction, run: Execution) -> Worker:
        task = transaction.tasks.get(run.task_id or "")
        agent = transaction.agents.get(run.agent_id)
        if task is None or agent is None:
            raise SessionNotFound(run.id)
        project = transaction.projects.get(task.project_id)
        assert project is not None, "a task's project is a foreign key"
        return Worker(run, task, agent, project)

    def _number(self, transaction: Transaction, run: Execution) -> int:
        task = transaction.tasks.get(run.task_id or "")
        return task.number if task else 0

    def _existing(self, transaction: Transaction, execution_id: str) -> Execution:
        run = transaction.executions.get(execution_id)
        if run is None:
            raise SessionNotFound(execution_id[:80])
        return run

    def _locked(self, transaction: Transaction, execution_id: str) -> Execution:
        return transaction.executions.lock(execution_id) or self._existing(transaction, execution_id)
