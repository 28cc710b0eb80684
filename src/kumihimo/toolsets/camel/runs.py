"""Runs as S0 has them. Spans of time keep their underscore: that is their name there."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import UNSET, UnsetType, field

from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Usage
from kumihimo.operations.runs import Begun, Stopped, Waited
from kumihimo.services.outputs import Output
from kumihimo.services.sights import Sight
from kumihimo.store.paging import Page
from kumihimo.toolsets.camel.answer import Answer
from kumihimo.toolsets.camel.executions import status_word as process_word


class StartedAgent(Answer, frozen=True):
    agent_id: str
    group_id: str | None
    role: str
    model: str | None
    status: str


class ListedAgent(StartedAgent, frozen=True):
    started_at: datetime | None
    elapsed_ms: int = field(name="elapsed_ms")
    tool_call_count: int


class ListedAnswer(Answer, frozen=True):
    agents: list[ListedAgent]
    total: int
    next_cursor: str | UnsetType = UNSET


class AgentsAnswer(Answer, frozen=True):
    agents: list[ListedAgent]
    next_cursor: str | UnsetType = UNSET


class ToolCallAnswer(Answer, frozen=True):
    tool: str
    arguments: str
    ok: bool | None


class UsageAnswer(Answer, frozen=True):
    input_tokens: int
    output_tokens: int
    cost_usd: float | UnsetType = UNSET


class ResultAnswer(Answer, frozen=True):
    """What was reported, with what was observed beside it."""

    agent_id: str
    group_id: str | None
    role: str
    model: str | None
    status: str
    summary: str
    edited_files: list[str]
    created_files: list[str]
    tool_call_count: int
    duration_ms: int = field(name="duration_ms")
    timestamp: datetime
    error_message: str | UnsetType = UNSET
    response: str | UnsetType = UNSET


class ConflictAnswer(Answer, frozen=True):
    """Another run that changes the same places, seen before either is merged."""

    agent_id: str
    files: list[str]


class ReturnedAnswer(Answer, frozen=True):
    """What its host knew of a run that had been given up meanwhile."""

    at: datetime
    exit_code: int | None
    signal: str | None
    failure_reason: str | None
    message: str | None


class AgentAnswer(ListedAgent, frozen=True):
    prompt: str
    working_directory: str | None
    timeout_ms: int | None = field(name="timeout_ms")
    stage_index: int | None
    client: str
    queued_at: datetime
    ended_at: datetime | None
    last_assistant_message: str | None
    recent_tool_calls: list[ToolCallAnswer]
    edited_files: list[str]
    created_files: list[str]
    usage: UsageAnswer
    result: ResultAnswer | None
    exit_code: int | None
    signal: str | None
    failure_reason: str | None
    error: str | None
    warning: str | None
    continues: str | None
    branch: str | None
    worktree: str | None
    conflicts: list[ConflictAnswer]
    project_id: str | None
    task_id: str | None
    host: str | None
    returned: ReturnedAnswer | UnsetType = UNSET
    attempt: int | UnsetType = UNSET


class DoneAgent(Answer, frozen=True):
    agent_id: str
    status: str
    duration_ms: int = field(name="duration_ms")
    result: ResultAnswer | UnsetType = UNSET


class PendingAgent(Answer, frozen=True):
    agent_id: str
    status: str
    elapsed_ms: int = field(name="elapsed_ms")


class WaitedAnswer(Answer, frozen=True):
    completed: list[DoneAgent]
    pending: list[PendingAgent]
    timed_out: bool
    still_waiting: bool | UnsetType = UNSET


class RegisteredAnswer(Answer, frozen=True):
    registered: bool
    agent_id: str


class StoppedAnswer(Answer, frozen=True):
    cancelled: bool
    agent_id: str
    survivors: list[int]


class OutputAnswer(Answer, frozen=True):
    lines: list[str]
    next_cursor: str
    done: bool


def status_word(run: Execution) -> str:
    """How a run is, in one word: what it reported comes first, and what has not begun is queued."""
    if run.report is not None:
        return "resultReported"
    return process_word(run)


def started_agent(it: Sight) -> StartedAgent:
    run = it.execution
    return StartedAgent(agent_id=run.id, group_id=run.group_id, role=it.role, model=_model(it), status=status_word(run))


def begun(it: Begun) -> StartedAgent:
    return started_agent(it.run)


def listed_agent(it: Sight) -> ListedAgent:
    return ListedAgent(**_listed(it))


def listed(it: Page[Sight]) -> ListedAnswer:
    agents = [listed_agent(sight) for sight in it.items]
    return ListedAnswer(agents=agents, total=len(agents), next_cursor=it.next_cursor or UNSET)


def agent(it: Sight) -> AgentAnswer:
    run, seen = it.execution, it.seen
    return AgentAnswer(
        **_listed(it),
        prompt=run.prompt,
        working_directory=run.working_directory,
        timeout_ms=run.timeout_ms,
        stage_index=run.stage,
        client=run.client,
        queued_at=run.queued_at,
        ended_at=run.ended_at,
        last_assistant_message=seen.last_message,
        recent_tool_calls=[
            ToolCallAnswer(tool=use.tool, arguments=use.arguments, ok=use.ok) for use in seen.recent_tools
        ],
        edited_files=list(seen.edited_files),
        created_files=list(seen.created_files),
        usage=_usage(seen.usage),
        result=result(it),
        exit_code=run.exit_code,
        signal=run.signal,
        failure_reason=run.failure_reason,
        error=run.error,
        warning=seen.warning,
        continues=run.previous_id,
        branch=run.branch,
        worktree=run.worktree,
        conflicts=[
            ConflictAnswer(agent_id=conflict.run, files=list(conflict.files))
            for conflict in (it.evidence.conflicts if it.evidence else ())
        ],
        project_id=run.project_id,
        task_id=run.task_id,
        host=run.host_id,
        returned=_returned(run) or UNSET,
        attempt=run.attempt or UNSET,
    )


def _returned(run: Execution) -> ReturnedAnswer | None:
    known = run.returned
    if known is None:
        return None
    return ReturnedAnswer(
        at=known.at,
        exit_code=known.exit_code,
        signal=known.signal,
        failure_reason=known.reason,
        message=known.message,
    )


def result(it: Sight) -> ResultAnswer | None:
    """The report, merged with what was seen: each file once, and what was created is not called edited."""
    run, seen, report = it.execution, it.seen, it.execution.report
    if report is None:
        return None
    created = _merged(run, seen.created_files, report.created_files)
    edited = _merged(run, seen.edited_files, report.edited_files)
    made = {_absolute(run, path) for path in created}
    return ResultAnswer(
        agent_id=run.id,
        group_id=run.group_id,
        role=it.role,
        model=_model(it),
        status=report.status,
        summary=report.summary,
        edited_files=[path for path in edited if _absolute(run, path) not in made],
        created_files=created,
        tool_call_count=seen.tool_calls,
        duration_ms=_milliseconds(run, report.reported_at),
        timestamp=report.reported_at,
        error_message=report.error_message or UNSET,
        response=report.response or UNSET,
    )


def waited(it: Waited) -> WaitedAnswer:
    return WaitedAnswer(
        completed=[
            DoneAgent(
                agent_id=sight.execution.id,
                status=status_word(sight.execution),
                duration_ms=_listed_elapsed(sight),
                result=result(sight) or UNSET,
            )
            for sight in it.completed
        ],
        pending=[
            PendingAgent(
                agent_id=sight.execution.id,
                status=status_word(sight.execution),
                elapsed_ms=_listed_elapsed(sight),
            )
            for sight in it.pending
        ],
        timed_out=it.timed_out,
        still_waiting=True if it.cut_short else UNSET,
    )


def registered(it: Execution) -> RegisteredAnswer:
    return RegisteredAnswer(registered=True, agent_id=it.id)


def stopped(it: Stopped) -> StoppedAnswer:
    run = it.execution
    return StoppedAnswer(cancelled=run.status == "cancelled", agent_id=run.id, survivors=list(run.survivors))


def output(it: Output) -> OutputAnswer:
    return OutputAnswer(lines=it.lines, next_cursor=it.next_cursor, done=it.done)


def _listed(it: Sight) -> dict[str, Any]:
    run = it.execution
    return {
        "agent_id": run.id,
        "group_id": run.group_id,
        "role": it.role,
        "model": _model(it),
        "status": status_word(run),
        "started_at": run.started_at,
        "elapsed_ms": _listed_elapsed(it),
        "tool_call_count": it.seen.tool_calls,
    }


def _listed_elapsed(it: Sight) -> int:
    run = it.execution
    if run.duration_ms is not None:
        return run.duration_ms
    return _milliseconds(run, run.ended_at or it.at)


def _milliseconds(run: Execution, until: datetime) -> int:
    if run.started_at is None:
        return 0
    return max(0, round((until - run.started_at).total_seconds() * 1000))


def _model(it: Sight) -> str | None:
    """The one that was asked for; else the one that the stream names."""
    return it.execution.model or it.seen.model


def _usage(usage: Usage) -> UsageAnswer:
    return UsageAnswer(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=UNSET if usage.cost_usd is None else usage.cost_usd,
    )


def _merged(run: Execution, seen: tuple[str, ...], told: tuple[str, ...]) -> list[str]:
    """Both together; a path that is told in two ways counts once."""
    found: dict[str, str] = {}
    for path in (*seen, *told):
        found.setdefault(_absolute(run, path), path)
    return list(found.values())


def _absolute(run: Execution, path: str) -> str:
    # Not resolved: the folder may be on another machine, or gone.
    return os.path.normpath(Path(run.working_directory or "", path))
