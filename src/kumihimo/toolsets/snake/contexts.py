"""Contexts."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from kumihimo.domain.context import ContextEntry
from kumihimo.services.contexts import TaskContext
from kumihimo.settings import Language
from kumihimo.toolsets.snake.answer import Answer, Shape


class EntryShape(Shape, frozen=True):
    type: str
    content: str
    agent_id: str | None
    created_at: datetime


class ContextShape(Shape, frozen=True):
    """The state of the work as it was last said, and what was noted."""

    progress: str | None
    findings: str | None
    blockers: str | None
    next_steps: str | None
    notes: list[EntryShape]


class ContextAnswer(Answer, frozen=True):
    task_id: str
    context: ContextShape
    history: list[EntryShape] | UnsetType = UNSET


class EntryAnswer(Answer, frozen=True):
    task_id: str
    entry: EntryShape


def entry_shape(it: ContextEntry) -> EntryShape:
    return EntryShape(type=it.kind, content=it.content, agent_id=it.agent_id, created_at=it.created_at)


def shape(it: TaskContext) -> ContextShape:
    return ContextShape(
        progress=it.progress,
        findings=it.findings,
        blockers=it.blockers,
        next_steps=it.next_steps,
        notes=[entry_shape(entry) for entry in it.notes],
    )


def one(it: TaskContext, _: Language) -> ContextAnswer:
    history = UNSET if it.history is None else [entry_shape(entry) for entry in it.history]
    return ContextAnswer(task_id=it.task.id, context=shape(it), history=history)


def entry(it: ContextEntry, _: Language) -> EntryAnswer:
    return EntryAnswer(task_id=it.task_id, entry=entry_shape(it))
