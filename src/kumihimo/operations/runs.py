"""Runs: looking at them, waiting for them, stopping them, going on from them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from kumihimo.domain.errors import (
    AgentNotFound,
    ArtifactAway,
    ExecutionNotFound,
    GroupNotFound,
    InvalidValue,
    MaxConcurrentReached,
    NotResumable,
    ProjectNotFound,
    ReportRefused,
    StartFailed,
)
from kumihimo.domain.execution import Execution, Report, ReportStatus
from kumihimo.domain.proof import Proof
from kumihimo.operations.agents import Cursor, Limit
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.services.groups import Limits
from kumihimo.services.hosting import ensure
from kumihimo.services.outputs import Output
from kumihimo.services.sights import Sight
from kumihimo.store.executions import Narrowed
from kumihimo.store.paging import Page

RunId = Annotated[str, Meta(description="The id of a run, or the beginning of it.")]
StatusFilter = Literal[
    "running", "completed", "failed", "all", "queued", "timedOut", "cancelled", "lost", "resultReported"
]
WaitMode = Literal["all", "any"]
# TERM, five seconds, KILL, and some time for the kernel.
_STOPPING_SECONDS = 20.0


class ListRuns(Arguments, frozen=True):
    group: Annotated[str | None, Meta(description="Only runs of this group.")] = None
    status: Annotated[
        StatusFilter | None,
        Meta(description="Only those; `completed` and `failed` also match what was reported as such."),
    ] = None
    limit: Limit | None = None
    cursor: Cursor | None = None
    role: Annotated[str | None, Meta(description="Only runs of this agent: its name or id.")] = None
    project: Annotated[str | None, Meta(description="Only runs in this project: its name or id.")] = None
    since: Annotated[datetime | None, Meta(description="Only what was asked for then or later.")] = None
    until: Annotated[datetime | None, Meta(description="Only what was asked for before then.")] = None


class NameRun(Arguments, frozen=True):
    run: RunId


class WaitForRuns(Arguments, frozen=True):
    runs: Annotated[list[str], Meta(description="The ids of the runs to wait for.")]
    timeout_ms: Annotated[int | None, Meta(description="How long to wait; to the end if left out.")] = None
    mode: Annotated[WaitMode, Meta(description="Until all are done, or any one is.")] = "all"


class ReportRun(Arguments, frozen=True):
    run: RunId
    status: Annotated[ReportStatus, Meta(description="How it went.")]
    summary: Annotated[str, Meta(description="What was done, in a few sentences.")]
    edited_files: Annotated[list[str], Meta(description="Files that were edited.")] = []  # noqa: RUF012 - msgspec copies it
    created_files: Annotated[list[str], Meta(description="Files that were created.")] = []  # noqa: RUF012
    error_message: Annotated[str | None, Meta(description="What went wrong.")] = None
    response: Annotated[str | None, Meta(description="What others need of the outcome, at length.")] = None


class GoOn(Arguments, frozen=True):
    run: RunId
    prompt: Annotated[str, Meta(description="What to do next.")]


class ReadOutput(Arguments, frozen=True):
    run: RunId
    cursor: Annotated[
        str | None, Meta(description="nextCursor of the answer before; from the beginning if left out.")
    ] = None
    limit: Annotated[int | None, Meta(description="How many lines at most (200).")] = None


class Waited(Struct, frozen=True):
    """What is done and what is not. `cut_short`: the client would have given up before; it may call again."""

    completed: list[Sight]
    pending: list[Sight]
    timed_out: bool = False
    cut_short: bool = False


class Begun(Struct, frozen=True):
    """A run that goes on from another."""

    run: Sight


class Stopped(Struct, frozen=True):
    """What became of a run that was to be stopped."""

    execution: Execution


@operation("run.list", ListRuns, Page[Sight], GroupNotFound, AgentNotFound, ProjectNotFound, InvalidValue, reads=True)
def list_(call: Call, arguments: ListRuns) -> Page[Sight]:
    """Runs of agents: of a group, or all, newest first."""
    board = call.board
    group_id = board.groups.show(arguments.group).id if arguments.group else None
    narrowed = Narrowed(
        board.agents.show(arguments.role).id if arguments.role else None,
        board.projects.show(arguments.project).id if arguments.project else None,
        arguments.since,
        arguments.until,
    )
    return board.executions.sights_of(
        group_id=group_id, status=arguments.status, narrowed=narrowed, limit=arguments.limit, cursor=arguments.cursor
    )


@operation("run.show", NameRun, Sight, ExecutionNotFound, reads=True)
def show(call: Call, arguments: NameRun) -> Sight:
    """Everything about one run: what it does now, what it has changed, and what came of it."""
    return call.board.executions.sight(arguments.run)


def _waited_in_vain(call: Call, arguments: WaitForRuns, cut_short: bool) -> Waited:
    return _sorted(call, arguments, timed_out=not cut_short, cut_short=cut_short)


def _sorted(call: Call, arguments: WaitForRuns, *, timed_out: bool = False, cut_short: bool = False) -> Waited:
    sights = call.board.executions.sights(dict.fromkeys(arguments.runs))
    done = [sight for sight in sights if sight.execution.done]
    return Waited(done, [sight for sight in sights if not sight.execution.done], timed_out, cut_short)


def _patience(arguments: WaitForRuns) -> float:
    return float("inf") if arguments.timeout_ms is None else max(0, arguments.timeout_ms) / 1000


@operation("run.wait", WaitForRuns, Waited, ExecutionNotFound, reads=True, patience=_patience, in_vain=_waited_in_vain)
def wait(call: Call, arguments: WaitForRuns) -> Waited | None:
    """Wait for runs: until all, or any one, have reported or ended. Call again where the answer says stillWaiting."""
    if call.board.executions.certainly_wait(set(arguments.runs), all_of_them=arguments.mode == "all"):
        call.keep_up()
        return None
    found = _sorted(call, arguments)
    enough = not found.pending or (arguments.mode == "any" and found.completed)
    if not enough:
        # Without a supervisor nothing would ever end, and no stage to come would ever begin.
        call.keep_up()
    return found if enough else None


@operation("run.report", ReportRun, Execution, ExecutionNotFound, ReportRefused, InvalidValue, idempotent=True)
def report(call: Call, arguments: ReportRun) -> Execution:
    """Say what came of a run. It is kept as a claim, beside what the process did."""
    run = call.board.executions.show(arguments.run)
    said = Report(
        arguments.status,
        arguments.summary,
        call.board.clock(),
        tuple(arguments.edited_files),
        tuple(arguments.created_files),
        arguments.error_message,
        arguments.response,
    )
    return call.board.executions.report(run.id, said)


class StopRun(Arguments, frozen=True):
    run: RunId
    now: Annotated[bool, Meta(description="At once, without the five seconds to end by itself.")] = False


def _not_stopped(call: Call, arguments: StopRun, _: bool) -> Stopped:
    return Stopped(call.board.executions.show(arguments.run))


@operation(
    "run.stop", StopRun, Stopped, ExecutionNotFound, idempotent=True, destructive=True,
    patience=lambda _: _STOPPING_SECONDS, in_vain=_not_stopped,
)  # fmt: skip
def stop(call: Call, arguments: StopRun) -> Stopped | None:
    """Stop a run with all of its processes, and answer when they are gone."""
    run = call.board.executions.stop(arguments.run, "killed" if arguments.now else "cancelled")
    if run.live:
        call.keep_up()
    return None if run.live else Stopped(run)


@operation("run.continue", GoOn, Begun, ExecutionNotFound, NotResumable, MaxConcurrentReached, StartFailed, slow=True)
def go_on(call: Call, arguments: GoOn) -> Begun:
    """Go on from a run that has ended: a new run that resumes the CLI's own conversation with another prompt."""
    limits = Limits(call.settings.max_concurrent)
    # Looked at first, so that a refused request does not even start a supervisor.
    call.board.groups.require_resumable(arguments.run, limits)
    ensure(call.settings)
    run = call.board.groups.go_on(arguments.run, arguments.prompt, limits)
    return Begun(call.board.executions.sight(run.id))


@operation("run.retry", NameRun, Begun, ExecutionNotFound, NotResumable, MaxConcurrentReached, StartFailed, slow=True)
def retry(call: Call, arguments: NameRun) -> Begun:
    """Do a run that has ended once more, from its beginning."""
    limits = Limits(call.settings.max_concurrent)
    call.board.groups.require_over(arguments.run, limits)
    ensure(call.settings)
    run = call.board.groups.retry(arguments.run, limits)
    return Begun(call.board.executions.sight(run.id))


@operation("run.output", ReadOutput, Output, ExecutionNotFound, InvalidValue, ArtifactAway, reads=True, slow=True)
def output(call: Call, arguments: ReadOutput) -> Output:
    """What an agent has printed, some lines at a time."""
    return call.board.outputs.read(arguments.run, arguments.cursor, arguments.limit)


@operation("run.proof", NameRun, Proof, ExecutionNotFound, reads=True, slow=True)
def proof(call: Call, arguments: NameRun) -> Proof:
    """What is known of a run: its commits and changes, its checks, how it ended, and beside that what it says of itself."""
    from kumihimo.services.verifying import proof_of

    return proof_of(call.board, call.settings, arguments.run)


OPERATIONS = (proof, list_, show, wait, report, stop, go_on, retry, output)
