"""Workers: runs on tasks, each in a worktree of its own."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kumihimo.domain.errors import (
    AgentNotFound,
    GitError,
    InvalidValue,
    NothingToMerge,
    ProjectArchived,
    SessionAlreadyRunning,
    SessionNotFound,
    StartFailed,
    TaskNotFound,
    TaskNotReady,
)
from kumihimo.operations.agents import Cursor, Limit
from kumihimo.operations.hosts import HostName
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.operations.projects import AgentName
from kumihimo.operations.tasks import TaskName
from kumihimo.services.merge_result import MergeResult
from kumihimo.services.workers import Request, Worker
from kumihimo.services.worksessions import WorkSession
from kumihimo.store.paging import Page

# TERM, five seconds, KILL, and some time for the kernel.
_STOPPING_SECONDS = 20.0

ClientName = Annotated[str, Meta(description="The agent CLI to use instead of the agent's own.")]
Auto = Annotated[bool, Meta(description="Let it do everything without asking; without this it is interactive.")]


class CommandWorker(Arguments, frozen=True):
    task: TaskName
    agent: Annotated[AgentName | None, Meta(description="Who works; the task's assignee if left out.")] = None
    client: ClientName | None = None
    auto: Auto = False
    worktree: Annotated[bool, Meta(description="In a worktree of its own, or in the project's folder.")] = True
    skip_dod: Annotated[bool, Meta(description="Don't run the checks; that they were skipped is on record.")] = False


class RunWorker(Arguments, frozen=True):
    task: TaskName
    agent: Annotated[AgentName | None, Meta(description="Who works; the task's assignee if left out.")] = None
    client: ClientName | None = None
    auto: Auto = False
    worktree: Annotated[bool, Meta(description="In a worktree of its own, or in the project's folder.")] = True
    skip_dod: Annotated[bool, Meta(description="Don't run the checks; that they were skipped is on record.")] = False
    timeout_ms: Annotated[int | None, Meta(description="After so long it is ended. No limit if left out.")] = None
    host: HostName | None = None


class NameWorker(Arguments, frozen=True):
    task: TaskName


class WaitForWorker(Arguments, frozen=True):
    task: TaskName
    timeout: Annotated[float | None, Meta(description="Seconds to wait; to the end if left out.")] = None


class StopWorker(Arguments, frozen=True):
    task: TaskName
    now: Annotated[bool, Meta(description="At once, without time to end by itself.")] = False


class FinishWorker(Arguments, frozen=True):
    task: TaskName
    skip_dod: Annotated[bool, Meta(description="Merge without running the checks; that is on record.")] = False


class ListWorkers(Arguments, frozen=True):
    limit: Limit | None = None
    cursor: Cursor | None = None


class Commanded(Struct, frozen=True):
    """A worker for somebody else to start, and the command that does it."""

    command: str
    worker: Worker


class WorkerWaited(Struct, frozen=True):
    """A worker that is over, or is not after so long."""

    session: WorkSession
    timed_out: bool


_REFUSALS = (
    TaskNotFound, AgentNotFound, SessionAlreadyRunning, ProjectArchived, TaskNotReady, InvalidValue, GitError,
)  # fmt: skip


@operation("worker.command", CommandWorker, Commanded, *_REFUSALS, slow=True)
def command(call: Call, arguments: CommandWorker) -> Commanded:
    """The command that starts a worker on a task in a worktree of its own, for any shell on this machine."""
    # Loaded when they are needed: every door of an editor starts with this module, and few ever start a worker.
    from kumihimo.services.commands import session_command
    from kumihimo.services.working import prepare

    request = Request(
        arguments.task,
        "session",
        arguments.agent,
        arguments.client,
        auto=arguments.auto,
        skip_checks=arguments.skip_dod,
    )
    worker = prepare(call.board, call.settings, call.place, request, worktree=arguments.worktree)
    return Commanded(session_command(call.settings, worker), worker)


@operation("worker.run", RunWorker, WorkSession, *_REFUSALS, StartFailed, slow=True)
def run(call: Call, arguments: RunWorker) -> WorkSession:
    """Start a worker on a task and let it work by itself, in a worktree of its own."""
    from kumihimo.services.hosting import ensure
    from kumihimo.services.working import prepare

    request = Request(
        arguments.task,
        "worker",
        arguments.agent,
        arguments.client,
        auto=arguments.auto,
        skip_checks=arguments.skip_dod,
        timeout_ms=arguments.timeout_ms,
        host=arguments.host,
    )
    ensure(call.settings)
    worker = prepare(call.board, call.settings, call.place, request, worktree=arguments.worktree)
    return WorkSession(worker.execution, worker.task, worker.agent)


def _patience(arguments: WaitForWorker) -> float:
    return float("inf") if arguments.timeout is None else max(0.0, arguments.timeout)


def _still_working(call: Call, arguments: WaitForWorker, _: bool) -> WorkerWaited:
    return WorkerWaited(call.board.work_sessions.latest(call.place, arguments.task), True)


@operation(
    "worker.wait", WaitForWorker, WorkerWaited, TaskNotFound, SessionNotFound,
    reads=True, patience=_patience, in_vain=_still_working,
)  # fmt: skip
def wait(call: Call, arguments: WaitForWorker) -> WorkerWaited | None:
    """Wait until the worker of a task is over and what it left behind was looked at."""
    latest = call.board.work_sessions.latest(call.place, arguments.task)
    if latest.execution.live or latest.execution.unverified:
        call.keep_up()
        return None
    return WorkerWaited(latest, False)


def _stopping_patience(_: StopWorker) -> float:
    return _STOPPING_SECONDS


def _still_there(call: Call, arguments: StopWorker, _: bool) -> WorkSession:
    return call.board.work_sessions.latest(call.place, arguments.task)


@operation(
    "worker.stop", StopWorker, WorkSession, TaskNotFound, SessionNotFound,
    idempotent=True, destructive=True, patience=_stopping_patience, in_vain=_still_there,
)  # fmt: skip
def stop(call: Call, arguments: StopWorker) -> WorkSession | None:
    """End the worker of a task with everything it has started. The task is blocked until somebody takes it up again."""
    latest = call.board.work_sessions.latest(call.place, arguments.task)
    if not latest.execution.live:
        return latest
    call.board.executions.stop(latest.execution.id, "killed" if arguments.now else "cancelled")
    after = call.board.work_sessions.latest(call.place, arguments.task)
    if after.execution.live:
        call.keep_up()
        return None
    return after


@operation("worker.done", FinishWorker, MergeResult, TaskNotFound, NothingToMerge, GitError, slow=True)
def done(call: Call, arguments: FinishWorker) -> MergeResult:
    """Run the checks, merge the work of a task, and remove its worktree."""
    from kumihimo.services.merging import Merger

    (result,) = Merger(call.board, call.settings).merge_all(
        call.place, [arguments.task], skip_checks=arguments.skip_dod, remove=True
    )
    if result.error is not None:
        raise result.error
    return result


@operation("worker.list", ListWorkers, Page[WorkSession], InvalidValue, reads=True)
def list_(call: Call, arguments: ListWorkers) -> Page[WorkSession]:
    """The workers of a project that wait or are at work, newest first."""
    return call.board.work_sessions.list(
        call.place,
        statuses=("planned", "queued", "starting", "running"),
        limit=arguments.limit,
        cursor=arguments.cursor,
    )


OPERATIONS = (command, run, wait, stop, done, list_)
