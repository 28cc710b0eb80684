"""Assignments: what an agent that has logged in is to do, and what it says came of it.

The first look at the task opens an execution, which is the record of this work; the end of the session closes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from kumihimo.domain import execution as executions
from kumihimo.domain import text
from kumihimo.domain.errors import ExecutionRefused, TaskRefused, TokenRefused
from kumihimo.domain.execution import Execution, Report, ReportStatus
from kumihimo.domain.handoff import Handoff
from kumihimo.domain.identifiers import Identifiers
from kumihimo.domain.project import Project
from kumihimo.domain.session import Session
from kumihimo.domain.task import Task
from kumihimo.services import contexts
from kumihimo.services.contexts import Contexts, TaskContext
from kumihimo.services.executions import Executions
from kumihimo.services.projects import Place
from kumihimo.services.service import Clock, Service, command, query
from kumihimo.services.sessions import Sessions
from kumihimo.services.task_rules import effective_checks
from kumihimo.services.tasks import Tasks
from kumihimo.services.wish import Wish
from kumihimo.store.store import Store, Transaction

Result = Literal["success", "failed", "blocked"]
# Where the worktrees of a project are.
WORKTREES = Path(".kumi", "worktrees")
_SAID: dict[Result, ReportStatus] = {"success": "success", "failed": "failure", "blocked": "failure"}


class Assignment(msgspec.Struct, frozen=True):
    """A task with everything that one who begins has to know."""

    task: Task
    project: Project
    context: TaskContext
    handoff: Handoff | None
    run: Execution | None = None
    """The record of this work, where it has begun."""

    @property
    def working_directory(self) -> str:
        """Its own place where it has one, else that of everybody."""
        own = self.run.working_directory if self.run else None
        return own or self.project.working_directory


def _assignment(transaction: Transaction, task: Task, run: Execution) -> Assignment:
    project = transaction.projects.get(task.project_id)
    assert project is not None, "a task's project is a foreign key"
    return Assignment(task, project, contexts.gather(transaction, task), transaction.handoffs.latest(task.id), run)


class Assignments(Service):
    def __init__(
        self,
        store: Store,
        clock: Clock,
        identifiers: Identifiers,
        *,
        tasks: Tasks,
        executions: Executions,
        sessions: Sessions,
        contexts: Contexts,
    ) -> None:
        super().__init__(store, clock, identifiers)
        self._tasks = tasks
        self._executions = executions
        self._sessions = sessions
        self._contexts = contexts

    @command
    def current(self, transaction: Transaction, session: Session) -> Assignment | None:
        """The task of a session; the first time, its work is on record from now on.

        Where its task was taken away meanwhile, what it took up is over, and it is given the next one.
        """
        self._alone(transaction, session)
        run = self._begun(transaction, session)
        task = self._still_its(transaction, session, run) if run else None
        if run is not None and task is not None:
            return _assignment(transaction, task, run)
        task = self._next(transaction, session)
        if task is None:
            return None
        if run is not None:
            transaction.executions.save(run.cancel(self.clock()))
        return _assignment(transaction, task, self._open(transaction, session, task))

    @query
    def own(self, transaction: Transaction, session: Session) -> Task | None:
        """What a session means by its own task: what it took up, else what it would be given."""
        run = self._begun(transaction, session)
        if run is not None and run.task_id is not None:
            return transaction.tasks.get(run.task_id)
        return self._free(transaction, session)

    @query
    def of_run(self, transaction: Transaction, execution_id: str) -> Assignment | None:
        """The task of a run that has no session: it is on record already, as the run itself."""
        run = transaction.executions.get(execution_id)
        task = transaction.tasks.get(run.task_id) if run and run.task_id else None
        return None if run is None or task is None else _assignment(transaction, task, run)

    @query
    def all(self, transaction: Transaction, session: Session) -> list[Assignment]:
        """Everything that the agent is to do in its project."""
        project = transaction.projects.get(session.project_id)
        assert project is not None, "a session's project is a foreign key"
        found = transaction.tasks.in_progress(session.agent_id, session.project_id)
        return [Assignment(task, project, contexts.gather(transaction, task), None) for task in found]

    @command
    def report(
        self,
        transaction: Transaction,
        session: Session,
        result: Result,
        *,
        summary: str | None = None,
        next_steps: str | None = None,
        checked: bool = False,
    ) -> Task | None:
        """What came of the task. The session is over with it; the task moves as the facts allow.

        A task that was taken away from the session stays where it is, and so does any other: what was said is about this one.
        `checked`: the settings have checks for this agent that the board does not know of.
        """
        current = transaction.instances.current(session.agent_id, session.project_id)
        # Before the session, as who tells of its end does: a Runner often does so at the same moment.
        instance = transaction.instances.lock(current.id) if current else None
        self._alone(transaction, session)
        run = self._begun(transaction, session)
        task = self._still_its(transaction, session, run) if run else self._next(transaction, session)
        if run is None and task is not None:
            run = self._open(transaction, session, task)
        if run is not None:
            if next_steps and run.task_id:
                self._contexts.save(
                    Place(session.project_id), run.task_id, next_steps=next_steps, agent=session.agent_id
                )
            if task is not None:
                task = self._settle(transaction, session, task, run, result, summary, checked=checked)
                run = transaction.executions.get(run.id) or run
            self._close(transaction, run, result, summary)
        if instance is not None and instance.state != "exited":
            transaction.instances.save(instance.judge("reported", self.clock()))
        self._sessions.end(session.id, "completed", summary)
        return task

    @command
    def report_run(
        self,
        transaction: Transaction,
        execution_id: str,
        result: Result,
        *,
        summary: str | None = None,
        next_steps: str | None = None,
    ) -> Task | None:
        """The same from a run that has no session: its word is kept, and its task moves when the run is over."""
        run = self._executions.report(execution_id, Report(_SAID[result], summary or "", self.clock()))
        task = transaction.tasks.get(run.task_id) if run.task_id else None
        if task is not None and next_steps:
            self._contexts.save(Place(task.project_id), task.id, next_steps=next_steps, agent=run.agent_id)
        return task

    @command
    def start_record(self, transaction: Transaction, session: Session, task_id: str) -> Execution:
        """A record that the agent keeps itself. TaskRefused for a task that is not its own."""
        task = transaction.tasks.get(task_id)
        if task is None or task.project_id != session.project_id or task.assignee_id != session.agent_id:
            raise TaskRefused
        return self._open(transaction, session, task)

    @command
    def complete_record(
        self,
        transaction: Transaction,
        session: Session,
        execution_id: str,
        exit_code: int,
        *,
        duration_seconds: float | None = None,
        log_path: str | None = None,
    ) -> Execution:
        """The end of such a record. ExecutionRefused for one that is not of this session, or over."""
        exit_code = executions.exit_code(exit_code)
        duration = None if duration_seconds is None else executions.duration_ms(duration_seconds)
        execution = transaction.executions.lock(execution_id)
        if execution is None or execution.session_id != session.id or not execution.live:
            raise ExecutionRefused
        facts = {"duration_ms": duration, "log_path": text.long_or_none("log_file_path", log_path)}
        now = self.clock()
        if exit_code == 0:
            change = execution.complete(now, **facts)
        else:
            change = execution.fail("exited", now, exit_code=exit_code, **facts)
        transaction.executions.save(change)
        return change.value

    def _alone(self, transaction: Transaction, session: Session) -> None:
        """Nobody else speaks for the session until we commit: of two that take up a task or report at once, one is first.
        TokenRefused once it is over."""
        locked = transaction.sessions.lock(session.id)
        if locked is None or locked.status != "live":
            raise TokenRefused

    def _begun(self, transaction: Transaction, session: Session) -> Execution | None:
        """The record of what a session took up; of what is its own to do before what was taken away since."""
        runs = transaction.executions.of_session(session.id)
        mine = {task.id for task in transaction.tasks.in_progress(session.agent_id, session.project_id)}
        return next((run for run in runs if run.task_id in mine), None) or next(iter(runs), None)

    def _still_its(self, transaction: Transaction, session: Session, run: Execution) -> Task | None:
        """The task of such a record, unless it was moved or given away meanwhile."""
        task = transaction.tasks.lock(run.task_id) if run.task_id else None
        mine = task is not None and task.status == "in_progress" and task.assignee_id == session.agent_id
        return task if mine else None

    def _next(self, transaction: Transaction, session: Session) -> Task | None:
        free = self._free(transaction, session)
        return transaction.tasks.lock(free.id) if free else None

    def _free(self, transaction: Transaction, session: Session) -> Task | None:
        """The most urgent that is not claimed to be done."""
        mine = transaction.tasks.in_progress(session.agent_id, session.project_id)
        return next((task for task in mine if task.claimed_by is None), None)

    def _open(self, transaction: Transaction, session: Session, task: Task) -> Execution:
        agent = transaction.agents.get(session.agent_id)
        project = transaction.projects.get(session.project_id)
        assert agent is not None, "a session's agent is a foreign key"
        assert project is not None, "a session's project is a foreign key"
        worktree, branch = self._workplace(transaction, session, project)
        wish = Wish(
            agent,
            "instance",
            task=task,
            session_id=session.id,
            working_directory=worktree or project.working_directory,
            numbered=True,
            worktree=worktree,
            branch=branch,
        )
        execution = self._executions.enqueue(wish)
        assert execution is not None, "records of instances have no unique place"
        change = execution.start(self.clock())
        transaction.executions.save(change)
        return change.value

    def _workplace(self, transaction: Transaction, session: Session, project: Project) -> tuple[str | None, str | None]:
        """The worktree that this session's instance was told to work in, if it does."""
        instance = transaction.instances.current(session.agent_id, session.project_id)
        if instance is None or instance.worktree is None or instance.working_directory is None:
            return None, None
        place = Path(project.working_directory, WORKTREES, instance.worktree)
        return (str(place), instance.branch) if Path(instance.working_directory).is_relative_to(place) else (None, None)

    def _settle(
        self,
        transaction: Transaction,
        session: Session,
        task: Task,
        run: Execution,
        result: Result,
        summary: str | None,
        *,
        checked: bool,
    ) -> Task:
        if result != "success":
            return self._tasks.move(task, "blocked", reason=summary or result)
        heir = self._heir(transaction, session, task)
        if heir is not None:
            change = task.assign(heir, self.clock())
            transaction.tasks.save(change)
            return change.value
        project = transaction.projects.get(task.project_id)
        unchecked = not checked and not effective_checks(transaction, task)
        decided = project is not None and not project.worktrees and unchecked
        if decided and not transaction.tasks.open_subtasks(task.id):
            return self._tasks.move(task, "done", reason=summary)
        if decided:
            # Nothing is to be looked at: it is done as soon as what is below it is over.
            transaction.executions.save(run.verify(self.clock()))
        change = task.claim(run.id, self.clock())
        transaction.tasks.save(change)
        return change.value

    def _heir(self, transaction: Transaction, session: Session, task: Task) -> str | None:
        """To whom this session has handed the task over, while that was not accepted yet."""
        handoff = transaction.handoffs.waiting_from(task.id, session.agent_id, session.started_at)
        return handoff.to_agent_id if handoff else None

    def _close(self, transaction: Transaction, run: Execution, result: Result, summary: str | None) -> None:
        now = self.clock()
        said = run.say(Report(_SAID[result], summary or "", now), now)
        transaction.executions.save(said)
        ended = said.value.complete(now) if result == "success" else said.value.fail("exited", now, error=summary)
        transaction.executions.save(ended)
