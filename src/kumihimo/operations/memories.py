"""Memories."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.domain.errors import IllegalTransition, InvalidValue, MemoryNotFound, NameTaken
from kumihimo.domain.memory import Memory, MemoryStatus
from kumihimo.operations.agents import Cursor, Limit
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.services.memories import Preview
from kumihimo.store.paging import Page

Slug = Annotated[str, Meta(description="Its slug: small letters, digits, '-' and '_'.")]
Category = Annotated[str, Meta(description="What it is about: architecture, tooling, convention, rule, ...")]
Title = Annotated[str, Meta(description="The decision in one line.")]
Summary = Annotated[str, Meta(description="The decision in a sentence or two.")]
Content = Annotated[str, Meta(description="The whole of it, in Markdown.")]
Status = Annotated[MemoryStatus, Meta(description="Only active ones reach an agent.")]


class AddMemory(Arguments, frozen=True):
    memory: Slug
    category: Category
    title: Title
    summary: Summary = ""
    status: Status = "active"
    content: Content = ""


class UpdateMemory(Arguments, frozen=True):
    memory: Slug
    category: Category | None = None
    title: Title | None = None
    summary: Summary | None = None
    status: Status | None = None
    content: Content | None = None


class NameMemory(Arguments, frozen=True):
    memory: Slug


class ListMemories(Arguments, frozen=True):
    category: Category | None = None
    status: Status | None = None
    limit: Limit | None = None
    cursor: Cursor | None = None


class PreviewMemories(Arguments, frozen=True):
    category: Category | None = None
    status: Annotated[MemoryStatus | None, Meta(description="As if those of this status were given.")] = None


@operation("memory.add", AddMemory, Memory, InvalidValue, NameTaken)
def add(call: Call, arguments: AddMemory) -> Memory:
    """Write down a decision of the project."""
    return call.board.memories.add(
        call.place,
        arguments.memory,
        category=arguments.category,
        title=arguments.title,
        summary=arguments.summary,
        content=arguments.content,
        status=arguments.status,
    )


@operation("memory.list", ListMemories, Page[Memory], InvalidValue, reads=True)
def list_(call: Call, arguments: ListMemories) -> Page[Memory]:
    """The decisions of the project, by slug."""
    return call.board.memories.list(
        call.place,
        category=arguments.category,
        status=arguments.status,
        limit=arguments.limit,
        cursor=arguments.cursor,
    )


@operation("memory.show", NameMemory, Memory, MemoryNotFound, reads=True)
def show(call: Call, arguments: NameMemory) -> Memory:
    """One decision of the project, with its whole text."""
    return call.board.memories.show(call.place, arguments.memory)


@operation("memory.preview", PreviewMemories, Preview, reads=True)
def preview(call: Call, arguments: PreviewMemories) -> Preview:
    """Exactly what an agent of this project is given to read."""
    memories = call.board.memories
    # Who looks at what agents are given may look at the files next: a copy that could not be made before is made now.
    memories.mend_files(call.place)
    return memories.preview(call.place, category=arguments.category, status=arguments.status)


@operation("memory.update", UpdateMemory, Memory, MemoryNotFound, InvalidValue, IllegalTransition, idempotent=True)
def update(call: Call, arguments: UpdateMemory) -> Memory:
    """Change what is given; the rest stays."""
    return call.board.memories.update(
        call.place,
        arguments.memory,
        status=arguments.status,
        category=arguments.category,
        title=arguments.title,
        summary=arguments.summary,
        content=arguments.content,
    )


@operation("memory.archive", NameMemory, Memory, MemoryNotFound, idempotent=True, destructive=True)
def archive(call: Call, arguments: NameMemory) -> Memory:
    """Put a decision away: agents are not given it any more."""
    return call.board.memories.archive(call.place, arguments.memory)


OPERATIONS = (add, list_, show, preview, update, archive)
