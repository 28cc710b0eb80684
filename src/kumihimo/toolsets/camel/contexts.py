"""Contexts."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from kumihimo.domain.context import ContextEntry
from kumihimo.services.contexts import TaskContext
from kumihimo.toolsets.camel.answer import Answer


class ContextEntryAnswer(Answer, frozen=True):
    id: str
    task_id: str
    type: str
    content: str
    agent_id: str | None
    created_at: datetime


class ContextAnswer(Answer, frozen=True):
    id: int
    task_id: str
    progress: str | None
    findings: str | None
    blockers: str | None
    next_steps: str | None
    notes: list[ContextEntryAnswer]
    history: list[ContextEntryAnswer] | UnsetType = UNSET


def context_entry(it: ContextEntry) -> ContextEntryAnswer:
    return ContextEntryAnswer(
        id=it.id, task_id=it.task_id, type=it.kind, content=it.content, agent_id=it.agent_id, created_at=it.created_at
    )


def context(it: TaskContext) -> ContextAnswer:
    return ContextAnswer(
        id=it.task.number,
        task_id=it.task.id,
        progress=it.progress,
        findings=it.findings,
        blockers=it.blockers,
        next_steps=it.next_steps,
        notes=[context_entry(entry) for entry in it.notes],
        history=UNSET if it.history is None else [context_entry(entry) for entry in it.history],
    )
