"""Runs as the record has them."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from kumihimo.domain.execution import Execution
from kumihimo.toolsets.camel.answer import Answer


class ExecutionAnswer(Answer, frozen=True):
    id: str
    execution_id: str
    session: int | None
    task_id: str | None
    agent_id: str
    project_id: str | None
    group_id: str | None
    client: str
    model: str | None
    status: str
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    signal: str | None
    failure_reason: str | None


class ExecutionsAnswer(Answer, frozen=True):
    executions: list[ExecutionAnswer]
    next_cursor: str | UnsetType = UNSET


def status_word(it: Execution) -> str:
    """What the process does, as the wire has it: starting is running, and no underscore."""
    return {"planned": "queued", "starting": "running", "timed_out": "timedOut"}.get(it.status, it.status)


def execution(it: Execution) -> ExecutionAnswer:
    return ExecutionAnswer(
        id=it.id,
        execution_id=it.id,
        session=it.number,
        task_id=it.task_id,
        agent_id=it.agent_id,
        project_id=it.project_id,
        group_id=it.group_id,
        client=it.client,
        model=it.model,
        status=status_word(it),
        queued_at=it.queued_at,
        started_at=it.started_at,
        ended_at=it.ended_at,
        exit_code=it.exit_code,
        signal=it.signal,
        failure_reason=it.failure_reason,
    )
