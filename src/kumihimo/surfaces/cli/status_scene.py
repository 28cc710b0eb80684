"""The scene: does anything need me, what is everyone doing, what came of it today? As somebody sees it who watches."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from datetime import datetime, timedelta
from statistics import median
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.services.board import Board
from kumihimo.services.panorama import Panorama
from kumihimo.services.settling import why
from kumihimo.services.sights import Sight
from kumihimo.services.tasks import TaskView
from kumihimo.toolsets.camel.runs import status_word

# What went wrong longer ago than that is history.
_FRESH = timedelta(hours=24)
_MOST_DONE = 200


class Need(Struct, frozen=True, rename="camel"):
    """Something that waits for a person; `command` is how to go on with it."""

    kind: Literal["task", "merge", "run", "handoff"]
    id: str
    title: str
    reason: str
    since: datetime
    command: str


class SeenRun(Struct, frozen=True, rename="camel"):
    agent_id: str
    role: str
    status: str
    reported: str | None
    """What it says of itself, once it does."""
    stage: int | None
    task: int | None
    started_at: datetime | None
    duration_ms: int | None
    """Of one that is over."""
    tool_call_count: int
    tokens: int
    last_message: str | None


class SeenGroup(Struct, frozen=True, rename="camel"):
    group_id: str
    description: str
    stage: int | None
    """Counted from 1."""
    stages: int | None
    runs: list[SeenRun]


class DoneTask(Struct, frozen=True, rename="camel"):
    id: int
    title: str


class Done(Struct, frozen=True, rename="camel"):
    """What ended today, of the newest."""

    succeeded: int
    failed: int
    median_ms: int | None
    tasks: list[DoneTask]


class Scene(Struct, frozen=True, rename="camel"):
    """Holds nothing that changes by time alone, so that two of them differ where something happened."""

    needs_you: list[Need]
    groups: list[SeenGroup]
    runs: list[SeenRun]
    """Those that belong to no group."""
    done: Done

    @property
    def working(self) -> bool:
        return bool(self.groups or self.runs)

    @property
    def outline(self) -> Scene:
        """Without what a run says and counts on its way."""
        groups = [replace(group, runs=_quiet(group.runs)) for group in self.groups]
        return replace(self, groups=groups, runs=_quiet(self.runs))


def look(board: Board, project_id: str | None, since: datetime) -> Scene:
    """The scene now. `since` is when today began."""
    seen = board.watch.panorama()
    runs = [run for run in seen.runs if project_id in (None, run.execution.project_id)]
    tasks = [view for view in seen.tasks if project_id in (None, view.task.project_id)]
    numbers = {view.task.id: view.task.number for view in seen.tasks}
    needs = sorted(_needs(board, project_id, tasks, runs), key=lambda need: need.since)
    alone = [_run(it, numbers) for it in runs if it.execution.live and it.execution.group_id is None]
    return Scene(needs, list(_groups(seen, runs, numbers)), alone, _done(tasks, runs, since))


def _needs(board: Board, project_id: str | None, tasks: list[TaskView], runs: list[Sight]) -> Generator[Need]:
    for view in tasks:
        task = view.task
        if task.status == "blocked":
            command = f"kumi task show {task.id}"
            yield Need("task", f"#{task.number}", task.title, task.status_reason or "", task.updated_at, command)
    yield from _merges(board, tasks)
    for it in board.handoffs.pending():
        if project_id in (None, it.handoff.project_id) and (it.to_agent is None or it.to_agent.type == "human"):
            command = f"kumi handoff accept {it.handoff.id} --agent {it.to_agent.name if it.to_agent else 'AGENT'}"
            title = f"#{it.task.number} {it.task.title}"
            yield Need("handoff", it.handoff.id, title, it.handoff.summary, it.handoff.created_at, command)
    yield from _troubles(runs, board.clock())


def _merges(board: Board, tasks: list[TaskView]) -> Generator[Need]:
    """Tasks whose success waits to be merged."""
    claimed = {view.task.claimed_by: view.task for view in tasks if view.task.claimed_by}
    for run_id, sight in board.watch.runs([it for it in claimed if it]).items():
        run, task = sight.execution, claimed[run_id]
        if run.branch and not run.unverified and run.dod_result == "pending" and task.status == "in_progress":
            yield Need("merge", f"#{task.number}", task.title, run.branch, task.updated_at, f"kumi merge {task.id}")


def _troubles(runs: list[Sight], now: datetime) -> Generator[Need]:
    """Runs that failed a little while ago and that nobody has gone on from. Those on tasks are told by their task."""
    followed = {it.execution.previous_id for it in runs}
    for it in runs:
        run = it.execution
        ended = run.ended_at if not run.live else None
        bad = not run.succeeded and run.status != "cancelled" and (run.task_id is None or run.origin == "group")
        if ended is not None and bad and now - ended < _FRESH and run.id not in followed:
            yield Need("run", run.id, it.role, why(run), ended, f"kumi run show {run.id}")


def _groups(seen: Panorama, runs: list[Sight], numbers: dict[str, int]) -> Generator[SeenGroup]:
    members: dict[str, list[Sight]] = {}
    for it in runs:
        if it.execution.group_id is not None:
            members.setdefault(it.execution.group_id, []).append(it)
    for group in reversed(seen.groups):
        own = members.get(group.id, [])
        if any(it.execution.live for it in own):
            own.sort(key=lambda it: (it.execution.stage or 0, it.execution.queued_at, it.execution.id))
            stage = None if group.stage is None else group.stage + 1
            yield SeenGroup(group.id, group.description, stage, group.stages, [_run(it, numbers) for it in own])


def _run(it: Sight, numbers: dict[str, int]) -> SeenRun:
    run = it.execution
    usage = it.seen.usage
    return SeenRun(
        agent_id=run.id,
        role=it.role,
        status=status_word(run),
        reported=run.report.status if run.report else None,
        stage=None if run.stage is None else run.stage + 1,
        task=numbers.get(run.task_id or ""),
        started_at=run.started_at,
        duration_ms=run.duration_ms,
        tool_call_count=it.seen.tool_calls,
        tokens=usage.input_tokens + usage.output_tokens,
        last_message=it.seen.last_message,
    )


def _done(tasks: list[TaskView], runs: list[Sight], since: datetime) -> Done:
    over = [it.execution for it in runs if it.execution.ended_at is not None and it.execution.ended_at >= since]
    counted = [run for run in over if run.status != "cancelled" or run.succeeded]
    good = [run for run in counted if run.succeeded]
    lengths = [run.duration_ms for run in good if run.duration_ms is not None]
    finished = [view.task for view in tasks if view.task.status == "done" and view.task.updated_at >= since]
    return Done(
        succeeded=len(good),
        failed=len(counted) - len(good),
        median_ms=int(median(lengths)) if lengths else None,
        tasks=[DoneTask(task.number, task.title) for task in finished[:_MOST_DONE]],
    )


def _quiet(runs: Iterable[SeenRun]) -> list[SeenRun]:
    return [replace(run, tool_call_count=0, tokens=0, last_message=None) for run in runs]
