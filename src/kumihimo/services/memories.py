"""Memories: decisions of a project. Only the active ones reach an agent, as one page of Markdown."""

from __future__ import annotations

from typing import Any

import msgspec

from kumihimo.domain import text
from kumihimo.domain.errors import MemoryNotFound, NameTaken
from kumihimo.domain.event import Change
from kumihimo.domain.memory import Memory, MemoryStatus, identify
from kumihimo.services import projects
from kumihimo.services.projects import Place
from kumihimo.services.references import missing
from kumihimo.services.service import Service, command, lookup, query
from kumihimo.store.paging import Page, bounded, decode, encode
from kumihimo.store.store import Transaction


class Preview(msgspec.Struct, frozen=True):
    """Exactly what an agent is given, and of which memories it is made."""

    content: str
    memories: list[Memory]


def find(transaction: Transaction, place: Place, slug: str) -> Memory:
    project = projects.at(transaction, place)
    found = None if "\0" in slug else transaction.memories.with_slug(project.id, slug)
    if found is None:
        raise missing(MemoryNotFound, slug, (memory.slug for memory in transaction.memories.of_project(project.id)))
    return found


def markdown(memories: list[Memory]) -> str:
    """The active decisions by category; nothing where there are none."""
    lines: list[str] = []
    category = None
    for memory in sorted(memories, key=lambda memory: (memory.category, memory.slug)):
        if memory.category != category:
            category = memory.category
            lines += [f"## {category}", ""]
        lines += [f"### {memory.title}", ""]
        for paragraph in (memory.summary, memory.content):
            if paragraph.strip():
                lines += [paragraph.strip(), ""]
    return "\n".join(["# Decisions of this project", "", *lines]).rstrip() + "\n" if lines else ""


class Memories(Service):
    @command
    def add(
        self,
        transaction: Transaction,
        place: Place,
        slug: str,
        *,
        category: str,
        title: str,
        summary: str = "",
        content: str = "",
        status: MemoryStatus = "active",
    ) -> Memory:
        project = projects.at(transaction, place)
        slug = text.slug("id", slug)
        now = self.clock()
        memory = Memory(
            id=identify(project.id, slug),
            project_id=project.id,
            slug=slug,
            category=text.slug("category", category),
            title=text.line("title", title),
            summary=text.long("summary", summary),
            content=text.long("content", content),
            status=status,
            created_at=now,
            updated_at=now,
        )
        if not transaction.memories.add(Change(memory, "memory.created", now)):
            raise NameTaken("memory", slug)
        return memory

    @command
    def update(
        self,
        transaction: Transaction,
        place: Place,
        slug: str,
        *,
        status: MemoryStatus | None = None,
        **fields: Any,
    ) -> Memory:
        """Change what is given; what is None stays."""
        memory = self._locked(transaction, place, slug)
        checks: dict[str, Any] = {
            "category": text.slug,
            "title": text.line,
            "summary": text.long,
            "content": text.long,
        }
        checked = {name: checks[name](name, value) for name, value in fields.items() if value is not None}
        changes = {name: value for name, value in checked.items() if getattr(memory, name) != value}
        if changes:
            change = memory.edit(self.clock(), **changes)
            transaction.memories.save(change)
            memory = change.value
        return self._to_status(transaction, memory, status) if status else memory

    @command
    def archive(self, transaction: Transaction, place: Place, slug: str) -> Memory:
        return self._to_status(transaction, self._locked(transaction, place, slug), "archived")

    @lookup
    def show(self, transaction: Transaction, place: Place, slug: str) -> Memory:
        return find(transaction, place, slug)

    @query
    def list(
        self,
        transaction: Transaction,
        place: Place,
        *,
        category: str | None = None,
        status: MemoryStatus | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Memory]:
        """By slug."""
        project = projects.at(transaction, place)
        size = 1_000 if limit is None else bounded(limit)
        after = decode(cursor, str)[0] if cursor else None
        found = transaction.memories.of_project(
            project.id, category=category, status=status, after=after, limit=size + 1
        )
        more = len(found) > size
        return Page(found[:size], encode(found[size - 1].slug) if more else None)

    @query
    def preview(
        self,
        transaction: Transaction,
        place: Place,
        *,
        category: str | None = None,
        status: MemoryStatus | None = None,
    ) -> Preview:
        """What an agent would be given now; another status shows what it would be given with those."""
        project = projects.at(transaction, place)
        memories = transaction.memories.of_project(project.id, category=category, status=status or "active")
        return Preview(markdown(memories), memories)

    def _locked(self, transaction: Transaction, place: Place, slug: str) -> Memory:
        found = find(transaction, place, slug)
        return transaction.memories.lock(found.id) or found

    def _to_status(self, transaction: Transaction, memory: Memory, status: MemoryStatus) -> Memory:
        if memory.status == status:
            return memory
        change = memory.move(status, self.clock())
        transaction.memories.save(change)
        return change.value
