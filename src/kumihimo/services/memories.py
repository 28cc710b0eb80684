"""Memories: decisions of a project. Only the active ones reach an agent, as one page of Markdown.

The active ones lie in the project's folder as well, as files. Those are written when a change is committed; where that
can't be done, somebody is told, and it is done with the next change or whenever `write_files` is called.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from kumihimo.domain import text
from kumihimo.domain.errors import AmbiguousReference, MemoryNotFound, NameTaken, StoreError
from kumihimo.domain.event import Change
from kumihimo.domain.memory import Memory, MemoryStatus, identify
from kumihimo.domain.project import Project
from kumihimo.services import projects
from kumihimo.services.projects import Place
from kumihimo.services.references import missing
from kumihimo.services.service import Service, command, lookup, query
from kumihimo.store.paging import Page, bounded, decode, encode
from kumihimo.store.store import Transaction

# How many are read at a time.
_SOME = 1_000


class Preview(msgspec.Struct, frozen=True):
    """Exactly what an agent is given, and of which memories it is made."""

    content: str
    memories: list[Memory]


def find(transaction: Transaction, place: Place, slug: str) -> Memory:
    project = projects.at(transaction, place)
    found = None if "\0" in slug else transaction.memories.with_slug(project.id, slug)
    return found or _beginning_with(slug, transaction.memories.of_project(project.id))


def _beginning_with(slug: str, memories: list[Memory]) -> Memory:
    """The one that this is the beginning of: a slug is the id by which people name a decision."""
    found = [memory for memory in memories if slug and memory.slug.startswith(slug)]
    if len(found) > 1:
        raise AmbiguousReference(slug, [memory.slug for memory in found[:4]])
    if not found:
        raise missing(MemoryNotFound, slug, (memory.slug for memory in memories))
    return found[0]


def active(
    transaction: Transaction, project_id: str, *, category: str | None = None, status: MemoryStatus = "active"
) -> list[Memory]:
    """All of them, however many there are, by slug."""
    found: list[Memory] = []
    while True:
        after = found[-1].slug if found else None
        some = transaction.memories.of_project(project_id, category=category, status=status, after=after, limit=_SOME)
        found += some
        if len(some) < _SOME:
            return found


def decisions(transaction: Transaction, project_id: str | None) -> str:
    """What an agent that works in a project is given to read; nothing where it works in none."""
    return "" if project_id is None else markdown(active(transaction, project_id))


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


def _tell(trouble: str) -> None:
    sys.stderr.write(f"kumi: the copy of the memory bank is not up to date: {trouble}\n")


class Memories(Service):
    def add(
        self,
        place: Place,
        slug: str,
        *,
        category: str,
        title: str,
        summary: str = "",
        content: str = "",
        status: MemoryStatus = "active",
    ) -> Memory:
        return self._kept(self._add(place, slug, category, title, summary, content, status))

    def update(self, place: Place, slug: str, *, status: MemoryStatus | None = None, **fields: Any) -> Memory:
        """Change what is given; what is None stays."""
        return self._kept(self._update(place, slug, status, fields))

    def archive(self, place: Place, slug: str) -> Memory:
        return self._kept(self._archive(place, slug))

    def mend_files(self, place: Place | None = None) -> None:
        """As `write_files`; what could not be done is said on stderr."""
        for trouble in self.write_files(place):
            _tell(trouble)

    def write_files(self, place: Place | None = None) -> list[str]:
        """Bring the files of a project, or of every one that is on this machine, up to the board. Answers what could not be."""
        found = self._projects(place)
        here = found if place else [project for project in found if Path(project.working_directory).is_dir()]
        return [trouble for project in here for trouble in self._write(project)]

    @lookup
    def decisions(self, transaction: Transaction, project_id: str | None) -> str:
        """Exactly what `preview` shows of a project; nothing for a run that has none."""
        return decisions(transaction, project_id)

    @command
    def _add(
        self,
        transaction: Transaction,
        place: Place,
        slug: str,
        category: str,
        title: str,
        summary: str,
        content: str,
        status: MemoryStatus,
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
    def _update(
        self, transaction: Transaction, place: Place, slug: str, status: MemoryStatus | None, fields: dict[str, Any]
    ) -> Memory:
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
    def _archive(self, transaction: Transaction, place: Place, slug: str) -> Memory:
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
        memories = active(transaction, project.id, category=category, status=status or "active")
        return Preview(markdown(memories), memories)

    @query
    def _projects(self, transaction: Transaction, place: Place | None) -> list[Project]:
        return transaction.projects.all() if place is None else [projects.at(transaction, place)]

    def _kept(self, memory: Memory) -> Memory:
        # Inside somebody else's command nothing is committed yet: whoever has it calls `write_files` when it is.
        if not self.store.writing:
            try:
                self.mend_files(Place(memory.project_id))
            except StoreError as error:
                # The change itself is committed: it has not failed because the store can't be read any more.
                _tell(str(error))
        return memory

    def _write(self, project: Project) -> list[str]:
        # Here, and not above: a door is often opened and seldom writes one.
        from kumihimo.services import memory_files

        def read() -> list[Memory]:
            return self.store.read(lambda transaction: active(transaction, project.id))

        return memory_files.write(Path(project.working_directory), read)

    def _locked(self, transaction: Transaction, place: Place, slug: str) -> Memory:
        found = find(transaction, place, slug)
        return transaction.memories.lock(found.id) or found

    def _to_status(self, transaction: Transaction, memory: Memory, status: MemoryStatus) -> Memory:
        if memory.status == status:
            return memory
        change = memory.move(status, self.clock())
        transaction.memories.save(change)
        return change.value
