"""Memories."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from kumihimo.domain.memory import Memory
from kumihimo.services.memories import Preview
from kumihimo.toolsets.camel.answer import Answer


class MemoryAnswer(Answer, frozen=True):
    id: str
    project_id: str
    category: str
    title: str
    summary: str
    status: str
    content: str
    created_at: datetime
    updated_at: datetime


class MemoriesAnswer(Answer, frozen=True):
    memories: list[MemoryAnswer]
    next_cursor: str | UnsetType = UNSET


class PreviewAnswer(Answer, frozen=True):
    content: str
    memories: list[str]


def memory(it: Memory) -> MemoryAnswer:
    return MemoryAnswer(
        id=it.slug,
        project_id=it.project_id,
        category=it.category,
        title=it.title,
        summary=it.summary,
        status=it.status,
        content=it.content,
        created_at=it.created_at,
        updated_at=it.updated_at,
    )


def preview(it: Preview) -> PreviewAnswer:
    return PreviewAnswer(content=it.content, memories=[memory.slug for memory in it.memories])
