"""An execution: one run of an agent CLI, from the wish to have it to what came of it.

What the process did (`status`, `exit_code`) and what the agent says of it (`report`) are separate facts. A claim gives
the run an owner, a lease and a fence; who writes with an old fence writes nothing. A run of a stage to come is planned:
nobody may claim it, and it holds no slot.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.errors import IllegalTransition, InvalidValue
from kumihimo.domain.event import Change
from kumihimo.domain.states import StateTable

ExecutionStatus = Literal[
    "planned", "queued", "starting", "running", "completed", "failed", "timed_out", "cancelled", "lost"
]  # fmt: skip
FailureReason = Literal[
    "spawn_failed", "exited", "signalled", "timed_out", "idle", "rate_limited",
    "auth", "permission", "protocol", "cancelled", "lost",
]  # fmt: skip
# Who asked for it: a group of a lead, a worker on a task, a session that somebody else runs, an instance that logged in.
Origin = Literal["group", "worker", "session", "instance"]
# Why a live run is being ended: somebody asked, asked for it at once, its time is up, or it has been silent for too long.
Stopping = Literal["cancelled", "killed", "timed_out", "idle"]
DodResult = Literal["pending", "merged", "timeout", "error"]
ReportStatus = Literal["success", "failure", "timeout", "cancelled"]

STATES = StateTable(
    "execution",
    ("planned", "queued", "running"),
    {
        ("planned", "queue"): "queued",
        ("planned", "cancel"): "cancelled",
        ("queued", "claim"): "starting",
        ("queued", "start"): "running",
        ("queued", "unplace"): "planned",
        ("queued", "cancel"): "cancelled",
        ("starting", "start"): "running",
        ("starting", "release"): "queued",
        ("starting", "fail"): "failed",
        ("starting", "cancel"): "cancelled",
        ("starting", "lose"): "lost",
        ("running", "complete"): "completed",
        ("running", "fail"): "failed",
        ("running", "time_out"): "timed_out",
        ("running", "cancel"): "cancelled",
        ("running", "lose"): "lost",
    },
)

LIVE: frozenset[ExecutionStatus] = frozenset({"planned", "queued", "starting", "running"})


_EXIT_CODES = range(-(2**31), 2**32)
_LONGEST_SECONDS = 10_000_000.0


def exit_code(value: int) -> int:
    """An exit code of any system that there is."""
    if value not in _EXIT_CODES:
        raise InvalidValue("exit_code", "not_a_number", value=str(value)[:40])
    return value


def duration_ms(seconds: float) -> int:
    if not 0 <= seconds <= _LONGEST_SECONDS:
        raise InvalidValue("duration_seconds", "not_a_number", value=str(seconds)[:40])
    return round(seconds * 1000)


class Report(Struct, frozen=True):
    """What the agent says of its run: a claim, kept as such."""

    status: ReportStatus
    summary: str
    reported_at: datetime
    edited_files: tuple[str, ...] = ()
    created_files: tuple[str, ...] = ()
    error_message: str | None = None
    response: str | None = None


class Returned(Struct, frozen=True):
    """What its host knew of a run that had been given up meanwhile: kept beside it, for what was decided stays so."""

    at: datetime
    exit_code: int | None = None
    signal: str | None = None
    reason: FailureReason | None = None
    message: str | None = None


class Execution(Struct, frozen=True):
    id: str
    number: int | None
    project_id: str | None
    task_id: str | None
    agent_id: str
    group_id: str | None
    session_id: str | None
    origin: Origin
    client: str
    model: str | None
    prompt: str
    working_directory: str | None
    timeout_ms: int | None
    status: ExecutionStatus
    queued_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    signal: str | None = None
    failure_reason: FailureReason | None = None
    error: str | None = None
    dod_result: DodResult | None = None
    artifacts: tuple[str, ...] = ()
    log_path: str | None = None
    duration_ms: int | None = None
    report: Report | None = None
    owner: str | None = None
    lease_until: datetime | None = None
    fence: int = 0
    stage: int | None = None
    previous_id: str | None = None
    """The run that this one goes on from, or does again."""
    conversation: str | None = None
    """The CLI's own conversation that is to be resumed."""
    stopping: Stopping | None = None
    survivors: tuple[int, ...] = ()
    """Processes that would not die when the run was stopped."""
    branch: str | None = None
    worktree: str | None = None
    base: str | None = None
    """The commit that its work begins at."""
    host_id: str | None = None
    """Where it was run: claims end with the run, this stays."""
    auto: bool = False
    """Everything is approved beforehand. Only said of runs that would ask somebody otherwise."""
    skip_checks: bool = False
    unverified: bool = False
    """What it left behind has not been looked at yet."""
    returned: Returned | None = None
    host: str | None = None
    """Where it is to be run: the name, the id or a label of a host. Anywhere where it can be if None."""
    attempt: int = 0
    """Which retry of a run on its task it is: 0 is the one that somebody asked for."""
    writes: tuple[str, ...] = ()
    """What it may write, as its task, its agent and the settings had it when its place was made. Anything where that is empty."""

    @property
    def live(self) -> bool:
        return self.status in LIVE

    @property
    def done(self) -> bool:
        """For waits and stages: it has reported or ended, whichever came first."""
        return self.report is not None or not self.live

    @property
    def succeeded(self) -> bool:
        """By its own word where it gave one, else by what the process did."""
        return self.report.status == "success" if self.report else self.status == "completed"

    def queue(self, at: datetime, **facts: object) -> Change[Execution]:
        """Its stage has come, or its place is ready. It keeps its place in the queue: who asked first is served first."""
        return Change(replace(self, status=self._next("queue"), **facts), "execution.reached", at, self)

    def want(self, at: datetime, **wishes: object) -> Change[Execution]:
        """It has not begun, and is wanted otherwise now."""
        return Change(replace(self, **wishes), "execution.wanted", at, self)

    def take(self, host_id: str, at: datetime) -> Change[Execution]:
        """One host is going to make its place, and nobody else."""
        if self.status != "planned":
            raise IllegalTransition("execution", self.id, self.status, "take", STATES.actions(self.status))
        return Change(replace(self, host=host_id), "execution.taken", at, self)

    def unplace(self, host: str | None, at: datetime) -> Change[Execution]:
        """Whoever made its place is gone, and nothing has begun there: it waits for a place anew, as long as any other."""
        back = replace(
            self, status=self._next("unplace"), host=host, queued_at=at,
            prompt="", working_directory=None, branch=None, worktree=None, base=None, writes=(),
        )  # fmt: skip
        return Change(back, "execution.unplaced", at, self)

    def verify(self, at: datetime, **facts: object) -> Change[Execution]:
        """What it left behind was looked at."""
        return Change(replace(self, unverified=False, **facts), "execution.verified", at, self)

    def merge(self, at: datetime) -> Change[Execution]:
        """Its work is in the branch that it was meant for."""
        return Change(replace(self, dod_result="merged"), "execution.merged", at, self)

    def stop(self, why: Stopping, at: datetime) -> Change[Execution]:
        """It is to be ended. The first reason stays, but for the patience that is lost with it."""
        reason = why if self.stopping is None or why == "killed" else self.stopping
        return Change(replace(self, stopping=reason), "execution.stopping", at, self)

    def claim(self, owner: str, lease_until: datetime, at: datetime) -> Change[Execution]:
        """Taken by one host: a new fence makes every earlier claim stale."""
        status = self._next("claim")
        taken = replace(self, status=status, owner=owner, host_id=owner, lease_until=lease_until, fence=self.fence + 1)
        return Change(taken, "execution.claimed", at, self)

    def release(self, at: datetime) -> Change[Execution]:
        """Given back before anything was started: somebody else may claim it."""
        back = replace(self, status=self._next("release"), owner=None, lease_until=None)
        return Change(back, "execution.released", at, self)

    def renew(self, lease_until: datetime, at: datetime) -> Change[Execution]:
        """The owner still lives. What nobody has claimed, or what is over, has no lease to renew."""
        if self.lease_until is None:
            raise IllegalTransition("execution", self.id, self.status, "renew", STATES.actions(self.status))
        return Change(replace(self, lease_until=lease_until), "execution.renewed", at, self)

    def start(self, at: datetime, began: datetime | None = None, **facts: object) -> Change[Execution]:
        """`began` is when, where it is written down only afterwards."""
        started = replace(self, status=self._next("start"), started_at=began or at, **facts)
        return Change(started, "execution.started", at, self)

    def complete(self, at: datetime, **facts: object) -> Change[Execution]:
        return self._end("complete", at, **{"exit_code": 0, **facts})

    def fail(self, reason: FailureReason, at: datetime, **facts: object) -> Change[Execution]:
        return self._end("fail", at, failure_reason=reason, **facts)

    def time_out(self, reason: FailureReason, at: datetime, **facts: object) -> Change[Execution]:
        """`reason` tells the two time-outs apart: the whole time, or silence."""
        return self._end("time_out", at, failure_reason=reason, **facts)

    def cancel(self, at: datetime, **facts: object) -> Change[Execution]:
        return self._end("cancel", at, failure_reason="cancelled", **facts)

    def lose(self, at: datetime, **facts: object) -> Change[Execution]:
        """Nobody knows what became of it."""
        return self._end("lose", at, failure_reason="lost", **facts)

    def come_back(self, known: Returned, log_path: str) -> Change[Execution]:
        """More is known of a run that was lost, and where it has printed. It stays lost."""
        if self.status != "lost":
            raise IllegalTransition("execution", self.id, self.status, "come_back", STATES.actions(self.status))
        return Change(replace(self, returned=known, log_path=log_path), "execution.returned", known.at, self)

    def say(self, report: Report, at: datetime) -> Change[Execution]:
        """What the agent reports, beside whatever the process does."""
        return Change(replace(self, report=report), "execution.reported", at, self)

    def _next(self, action: str) -> str:
        return STATES.next(self.id, self.status, action)

    def _end(self, action: str, at: datetime, **facts: object) -> Change[Execution]:
        status = self._next(action)
        if facts.get("duration_ms") is None and self.started_at is not None:
            facts["duration_ms"] = max(0, int((at - self.started_at).total_seconds() * 1000))
        ended = replace(self, status=status, ended_at=at, owner=None, lease_until=None, **facts)
        return Change(ended, f"execution.{status}", at, self)
