"""Work sessions: a run on a task that somebody else carries out and tells us about."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kumihimo.domain.errors import (
    AgentNotFound,
    GitError,
    IllegalTransition,
    InvalidValue,
    NothingToMerge,
    ProjectArchived,
    SessionAlreadyRunning,
    SessionNotFound,
    TaskNotFound,
    TaskNotReady,
)
from kumihimo.domain.execution import DodResult, ExecutionStatus
from kumihimo.operations.agents import Cursor, Limit
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.operations.projects import AgentName
from kumihimo.operations.tasks import TaskName
from kumihimo.services.worksessions import WorkSession
from kumihimo.store.paging import Page

SessionStatusWord = Literal["queued", "running", "completed", "failed", "timedOut", "cancelled", "lost"]


class StartSession(Arguments, frozen=True):
    task: TaskName
    agent: Annotated[AgentName | None, Meta(description="Who works; the task's assignee if left out, else coder.")] = (
        None
    )


class EndSession(Arguments, frozen=True):
    session: Annotated[str | int, Meta(description="A session: its number, or the exec_ id of its run.")]
    exit_code: Annotated[int, Meta(description="How the agent's program ended.")]
    signal: Annotated[str | None, Meta(description="The signal that ended it.")] = None
    dod_result: Annotated[DodResult | None, Meta(description="What became of the definition of done.")] = None
    artifacts: Annotated[list[str], Meta(description="A file that was made; may be repeated.")] = []  # noqa: RUF012
    error: Annotated[dict[str, Any] | str | None, Meta(description="What went wrong.")] = None


class ListSessions(Arguments, frozen=True):
    task: TaskName | None = None
    status: Annotated[SessionStatusWord | None, Meta(description="Only those in this status.")] = None
    limit: Limit | None = None
    cursor: Cursor | None = None


def statuses_of(word: SessionStatusWord | None) -> tuple[ExecutionStatus, ...] | None:
    """The statuses that a word of the wire stands for."""
    if word is None:
        return None
    if word == "running":
        return ("starting", "running")
    return ("timed_out",) if word == "timedOut" else (word,)


def _error_text(error: dict[str, Any] | str | None) -> str | None:
    """A sentence where there is one, else the whole as JSON: an error is for reading."""
    if not isinstance(error, dict):
        return error
    message = error.get("message")
    return message if isinstance(message, str) else msgspec.json.encode(error).decode()


@operation(
    "session.start", StartSession, WorkSession,
    TaskNotFound, AgentNotFound, SessionAlreadyRunning, ProjectArchived, TaskNotReady,
)  # fmt: skip
def start(call: Call, arguments: StartSession) -> WorkSession:
    """Say that an agent begins to work on a task: the task gets its agent and is in progress."""
    return call.board.work_sessions.start(call.place, arguments.task, arguments.agent)


@operation(
    "session.end", EndSession, WorkSession,
    SessionNotFound, IllegalTransition, TaskNotReady, InvalidValue, NothingToMerge, GitError,
    slow=True,
)  # fmt: skip
def end(call: Call, arguments: EndSession) -> WorkSession:
    """Say how it ended. 0 and merged: the task is done. 0 alone: it stays in progress. Anything else blocks it."""
    sessions = call.board.work_sessions
    known = sessions.show(call.place, arguments.session)
    # What was done in a worktree of ours is merged by us: "merged" is then a wish, and the facts decide.
    ours = known.execution.branch is not None and (arguments.exit_code, arguments.dod_result) == (0, "merged")
    if known.execution.live or not ours or known.execution.exit_code != arguments.exit_code:
        known = sessions.end(
            call.place,
            arguments.session,
            arguments.exit_code,
            signal=arguments.signal,
            dod_result=None if ours else arguments.dod_result,
            artifacts=arguments.artifacts,
            error=_error_text(arguments.error),
        )
    return _merged(call, known) if ours else known


def _merged(call: Call, session: WorkSession) -> WorkSession:
    from kumihimo.services.merging import Merger
    from kumihimo.services.verifying import Verification

    if session.execution.unverified:
        Verification(call.board, call.settings).verify(session.execution)
    (result,) = Merger(call.board, call.settings).merge_all(call.place, [session.execution.id])
    if result.error is not None:
        raise result.error
    return call.board.work_sessions.show(call.place, session.execution.id)


@operation("session.list", ListSessions, Page[WorkSession], TaskNotFound, InvalidValue, reads=True)
def list_(call: Call, arguments: ListSessions) -> Page[WorkSession]:
    """The sessions of a project or a task, newest first."""
    return call.board.work_sessions.list(
        call.place,
        task=arguments.task,
        statuses=statuses_of(arguments.status),
        limit=arguments.limit,
        cursor=arguments.cursor,
    )


OPERATIONS = (start, end, list_)
