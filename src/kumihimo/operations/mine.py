"""What an agent does as itself, once it has logged in: its own task, its own project, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from kumihimo.domain.agent import Agent
from kumihimo.domain.context import ContextEntry, ContextKind
from kumihimo.domain.errors import (
    AgentNotFound,
    ExecutionNotFound,
    ExecutionRefused,
    HandoffAlreadyAccepted,
    HandoffNotFound,
    IllegalTransition,
    InvalidValue,
    PermissionDenied,
    ProjectNotFound,
    TaskNotFound,
    TaskNotReady,
    TaskRefused,
    TokenRefused,
)
from kumihimo.domain.execution import Execution, Report, ReportStatus
from kumihimo.domain.session import Session
from kumihimo.domain.task import Task, TaskStatus
from kumihimo.operations.operation import Arguments, Call, Nothing, operation
from kumihimo.operations.projects import AgentName
from kumihimo.services.assignments import Assignment, Result
from kumihimo.services.contexts import TaskContext
from kumihimo.services.definitions import defined
from kumihimo.services.handoffs import HandoffView
from kumihimo.services.tasks import TaskView
from kumihimo.settings import Flags, load

TaskId = Annotated[str, Meta(description="The id of a task of your project.")]
OwnTaskId = Annotated[str | None, Meta(description="A task of your project; your own if left out.")]
Myself = Annotated[str | None, Meta(description="Your own id; may be left out.")]
Summary = Annotated[str, Meta(description="What was done, in a few sentences.")]
NextSteps = Annotated[str | None, Meta(description="What is to be done next.")]


class MaybeAssignment(Struct, frozen=True):
    """The task, where there is one."""

    assignment: Assignment | None


class Done(Struct, frozen=True):
    """What the report did: the task as it is now, where there was one."""

    task_status: TaskStatus | None
    waits_for_facts: bool
    waits_for_subtasks: bool = False


class ReportTask(Arguments, frozen=True):
    result: Annotated[Result, Meta(description="How it went.")]
    summary: Annotated[str | None, Meta(description="What was done.")] = None
    next_steps: NextSteps = None


class ListMine(Arguments, frozen=True):
    status: Annotated[TaskStatus | None, Meta(description="Only those in this status.")] = None


class MoveTask(Arguments, frozen=True):
    task_id: TaskId
    status: Annotated[TaskStatus, Meta(description="Where it goes, as the board allows.")]
    reason: Annotated[str | None, Meta(description="Why it goes there.")] = None


class SaveContext(Arguments, frozen=True):
    task_id: OwnTaskId = None
    progress: Annotated[str | None, Meta(description="How far the work is.")] = None
    findings: Annotated[str | None, Meta(description="What was found out.")] = None
    blockers: Annotated[str | None, Meta(description="What stands in the way.")] = None
    next_steps: NextSteps = None


class ShowContext(Arguments, frozen=True):
    task_id: OwnTaskId = None
    include_history: Annotated[bool, Meta(description="Also everything that was ever saved.")] = False


class AddContext(Arguments, frozen=True):
    task_id: TaskId
    content: Annotated[str, Meta(description="The entry.")]
    type: Annotated[ContextKind, Meta(description="Which kind of entry it is.")]


class HandOver(Arguments, frozen=True):
    summary: Summary
    task_id: OwnTaskId = None
    to_agent_id: Annotated[str | None, Meta(description="Who is to take over; anybody if left out.")] = None
    context: Annotated[str | None, Meta(description="What one must know.")] = None
    recommendations: Annotated[str | None, Meta(description="What you would do.")] = None
    next_steps: Annotated[list[str], Meta(description="Steps to take.")] = []  # noqa: RUF012 - msgspec copies it
    warnings: Annotated[list[str], Meta(description="What to beware of.")] = []  # noqa: RUF012
    agent_id: Myself = None


class TakeUp(Arguments, frozen=True):
    handoff_id: Annotated[str, Meta(description="The id of the handoff.")]
    agent_id: Myself = None


class ListHandedOver(Arguments, frozen=True):
    agent_id: Myself = None


class NameColleague(Arguments, frozen=True):
    agent_id: AgentName


class ListColleagues(Arguments, frozen=True):
    project_id: Annotated[str | None, Meta(description="The project; your own if left out.")] = None


class EndMySession(Arguments, frozen=True):
    summary: Summary


class StartRecord(Arguments, frozen=True):
    task_id: TaskId


class CompleteRecord(Arguments, frozen=True):
    execution_id: Annotated[str, Meta(description="What report_execution_start answered.")]
    exit_code: Annotated[int, Meta(description="How the program ended; 0 is success.")]
    duration_seconds: Annotated[float | None, Meta(description="How long it ran.")] = None
    log_file_path: Annotated[str | None, Meta(description="Where its log is.")] = None


class ReportRun(Arguments, frozen=True):
    status: Annotated[ReportStatus, Meta(description="How it went.")]
    summary: Summary
    run: Annotated[str | None, Meta(description="Your own run; may be left out.")] = None
    edited_files: Annotated[list[str], Meta(description="Files that were edited.")] = []  # noqa: RUF012
    created_files: Annotated[list[str], Meta(description="Files that were made.")] = []  # noqa: RUF012
    error_message: Annotated[str | None, Meta(description="What went wrong.")] = None
    response: Annotated[str | None, Meta(description="The whole answer, for whoever comes next.")] = None


def _own_task(call: Call, given: str | None) -> str:
    """A task of the caller's own project. TaskRefused for any other, as for one that is not there."""
    board, session = call.board, call.session
    if given is None:
        own = call.caller.execution_id
        assignment = board.assignments.of_run(own) if own else None
        mine = board.assignments.own(session) if own is None else assignment and assignment.task
        if mine is None:
            raise TaskRefused
        return mine.id
    try:
        task = board.tasks.get(call.place, given)
    except TaskNotFound:
        raise TaskRefused from None
    if task.project_id != session.project_id:
        raise TaskRefused
    return task.id


def _as_myself(call: Call, agent_id: str | None) -> str:
    """The agent of the session. It may say who it is, and nobody else."""
    own = call.session.agent_id
    if agent_id not in (None, own):
        raise PermissionDenied("an agent speaks for itself only")
    return own


@operation("mine.profile", Nothing, Agent, TokenRefused, reads=True)
def profile(call: Call, _: Nothing) -> Agent:
    """Who you are: your name, role and capabilities."""
    return call.board.agents.show(call.session.agent_id)


@operation("mine.colleagues", ListColleagues, list[Agent], TokenRefused, ProjectNotFound, PermissionDenied, reads=True)
def colleagues(call: Call, arguments: ListColleagues) -> list[Agent]:
    """The agents of your project: who could take over."""
    own = call.session.project_id
    if arguments.project_id is not None and call.board.projects.show(arguments.project_id).id != own:
        raise PermissionDenied("another project")
    return call.board.agents.list(project_id=own).items


@operation("mine.colleague", NameColleague, Agent, TokenRefused, AgentNotFound, reads=True)
def colleague(call: Call, arguments: NameColleague) -> Agent:
    """One agent of your project."""
    agent = call.board.agents.show(arguments.agent_id)
    if agent.id not in call.board.projects.show(call.session.project_id).agent_ids:
        raise AgentNotFound(arguments.agent_id[:80])
    return agent


@operation("mine.task", Nothing, MaybeAssignment, TokenRefused, idempotent=True)
def task(call: Call, _: Nothing) -> MaybeAssignment:
    """The task you are to work on now, with its context and the latest handoff."""
    session, own = call.session, call.caller.execution_id
    assignments = call.board.assignments
    return MaybeAssignment(assignments.of_run(own) if own else assignments.current(session))


@operation("mine.open_tasks", Nothing, list[Assignment], TokenRefused, reads=True)
def open_tasks(call: Call, _: Nothing) -> list[Assignment]:
    """Deprecated: every task that is in progress for you. Use get_my_task."""
    return call.board.assignments.all(call.session)


@operation("mine.tasks", ListMine, list[TaskView], TokenRefused, reads=True)
def tasks(call: Call, arguments: ListMine) -> list[TaskView]:
    """Every task that is assigned to you in this project."""
    statuses = (arguments.status,) if arguments.status else None
    return call.board.tasks.list(call.place, statuses=statuses, assignee=call.session.agent_id, limit=1_000).items


@operation("mine.report", ReportTask, Done, TokenRefused)
def report(call: Call, arguments: ReportTask) -> Done:
    """Say what came of your task. The session is over with it."""
    session, own = call.session, call.caller.execution_id
    told: dict[str, Any] = {"summary": arguments.summary, "next_steps": arguments.next_steps}
    assignments = call.board.assignments
    if own is not None:
        settled = assignments.report_run(own, arguments.result, **told)
        return Done(settled.status if settled else None, arguments.result == "success", _waits_below(call, settled))
    settled = assignments.report(session, arguments.result, checked=_has_defined_checks(call), **told)
    claimed = bool(settled and settled.claimed_by)
    return Done(settled.status if settled else None, claimed, claimed and _waits_below(call, settled))


def _waits_below(call: Call, task: Task | None) -> bool:
    return task is not None and call.board.tasks.waits_below(task.id)


def _has_defined_checks(call: Call) -> bool:
    """Whether the settings of the project have checks for this agent."""
    project = call.board.projects.show(call.session.project_id)
    settings = load(Flags(db=call.settings.database), os.environ, Path(project.working_directory))
    return bool(defined(call.board.agents.show(call.session.agent_id), settings).dod)


@operation(
    "mine.move_task", MoveTask, TaskView, TokenRefused, TaskRefused, IllegalTransition, TaskNotReady, idempotent=True
)
def move_task(call: Call, arguments: MoveTask) -> TaskView:
    """Move a task of yours to another status."""
    found = call.board.tasks.get(call.place, _own_task(call, arguments.task_id))
    if found.assignee_id != call.session.agent_id:
        raise PermissionDenied("the task is assigned to somebody else")
    return call.board.tasks.update(call.place, found.id, status=arguments.status, reason=arguments.reason)


@operation("mine.save_context", SaveContext, TaskContext, TokenRefused, TaskRefused, InvalidValue)
def save_context(call: Call, arguments: SaveContext) -> TaskContext:
    """Write down the state of your task, for whoever works on it next."""
    return call.board.contexts.save(
        call.place,
        _own_task(call, arguments.task_id),
        progress=arguments.progress,
        findings=arguments.findings,
        blockers=arguments.blockers,
        next_steps=arguments.next_steps,
        agent=call.session.agent_id,
    )


@operation("mine.context", ShowContext, TaskContext, TokenRefused, TaskRefused, reads=True)
def context(call: Call, arguments: ShowContext) -> TaskContext:
    """What is known about the state of your task."""
    return call.board.contexts.show(call.place, _own_task(call, arguments.task_id), history=arguments.include_history)


@operation("mine.add_context", AddContext, ContextEntry, TokenRefused, TaskRefused, InvalidValue)
def add_context(call: Call, arguments: AddContext) -> ContextEntry:
    """Note one thing about a task."""
    own = _own_task(call, arguments.task_id)
    return call.board.contexts.add(call.place, own, arguments.content, arguments.type, call.session.agent_id)


@operation(
    "mine.hand_over", HandOver, HandoffView, TokenRefused, TaskRefused, AgentNotFound, InvalidValue, PermissionDenied
)
def hand_over(call: Call, arguments: HandOver) -> HandoffView:
    """Leave your task for another agent, with what it has to know."""
    return call.board.handoffs.create(
        call.place,
        _own_task(call, arguments.task_id),
        from_agent=_as_myself(call, arguments.agent_id),
        to_agent=arguments.to_agent_id,
        summary=arguments.summary,
        context=arguments.context,
        recommendations=arguments.recommendations,
        next_steps=arguments.next_steps,
        warnings=arguments.warnings,
    )


@operation("mine.take_up", TakeUp, HandoffView, TokenRefused, HandoffNotFound, HandoffAlreadyAccepted, PermissionDenied)
def take_up(call: Call, arguments: TakeUp) -> HandoffView:
    """Accept what was handed over to you."""
    agent = _as_myself(call, arguments.agent_id)
    return call.board.handoffs.accept(arguments.handoff_id, agent, project_id=call.session.project_id)


@operation("mine.handoffs", ListHandedOver, list[HandoffView], TokenRefused, PermissionDenied, reads=True)
def handoffs(call: Call, arguments: ListHandedOver) -> list[HandoffView]:
    """What was handed over to you, or to anybody in your project, and waits to be accepted."""
    return call.board.handoffs.pending(place=call.place, agent=_as_myself(call, arguments.agent_id))


@operation("mine.session", Nothing, Session, TokenRefused, reads=True)
def session(call: Call, _: Nothing) -> Session:
    """Your session."""
    return call.session


@operation("mine.end_session", EndMySession, Session, TokenRefused)
def end_session(call: Call, arguments: EndMySession) -> Session:
    """End your session, and say what was done."""
    return call.board.sessions.end(call.session.id, "closed", arguments.summary)


@operation("mine.logout", Nothing, Session, TokenRefused)
def logout(call: Call, _: Nothing) -> Session:
    """End your session; the token is good no longer."""
    if call.caller.execution_id is not None:
        # A run has no session to end: its token is good for as long as it lasts.
        return call.session
    return call.board.sessions.end(call.session.id, "logout")


@operation("mine.start_record", StartRecord, Execution, TokenRefused, TaskRefused)
def start_record(call: Call, arguments: StartRecord) -> Execution:
    """Deprecated: say that work on a task begins. get_my_task does so by itself."""
    return call.board.assignments.start_record(call.session, arguments.task_id)


@operation("mine.complete_record", CompleteRecord, Execution, TokenRefused, ExecutionRefused)
def complete_record(call: Call, arguments: CompleteRecord) -> Execution:
    """Deprecated: say how such work ended. Use report_completed."""
    return call.board.assignments.complete_record(
        call.session,
        arguments.execution_id,
        arguments.exit_code,
        duration_seconds=arguments.duration_seconds,
        log_path=arguments.log_file_path,
    )


@operation("mine.report_run", ReportRun, Execution, TokenRefused, ExecutionNotFound, PermissionDenied)
def report_run(call: Call, arguments: ReportRun) -> Execution:
    """Say what came of your own run. It is kept as your word, beside what the process did."""
    own = call.caller.execution_id
    run = call.board.executions.show(own) if own else call.board.executions.of_session(call.session.id)
    if run is None and arguments.run is None:
        # It has not asked for its task, and speaks of it all the same.
        begun = call.board.assignments.current(call.session)
        run = begun.run if begun else None
    if run is None:
        raise ExecutionNotFound(arguments.run or "?")
    if arguments.run not in (None, run.id):
        raise PermissionDenied("that is not your own run")
    report = Report(
        arguments.status,
        arguments.summary,
        call.board.clock(),
        tuple(arguments.edited_files),
        tuple(arguments.created_files),
        arguments.error_message,
        arguments.response,
    )
    return call.board.executions.report(run.id, report)


OPERATIONS = (
    profile, colleagues, colleague, task, open_tasks, tasks, report, move_task, save_context, context, add_context,
    hand_over, take_up, handoffs, session, end_session, logout, start_record, complete_record, report_run,
)  # fmt: skip
