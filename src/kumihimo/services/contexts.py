"""Contexts: what was learnt about a task, for whoever works on it next."""

from __future__ import annotations

import msgspec

from kumihimo.domain import text
from kumihimo.domain.context import SUMMARY_KINDS, ContextEntry, ContextKind
from kumihimo.domain.errors import InvalidValue
from kumihimo.domain.event import Change
from kumihimo.domain.task import Task
from kumihimo.services import agents, tasks
from kumihimo.services.projects import Place
from kumihimo.services.service import Service, command, query
from kumihimo.services.tasks import Reference
from kumihimo.store.store import Transaction


class TaskContext(msgspec.Struct, frozen=True):
    """The state of the work as it was last said, what was noted, and on request all that was ever saved."""

    task: Task
    progress: str | None
    findings: str | None
    blockers: str | None
    next_steps: str | None
    notes: list[ContextEntry]
    history: list[ContextEntry] | None = None


def gather(transaction: Transaction, task: Task, *, history: bool = False) -> TaskContext:
    entries = transaction.contexts.of_task(task.id)
    latest = {kind: transaction.contexts.newest(task.id, kind) for kind in SUMMARY_KINDS}
    said = {kind: entry.content if entry else None for kind, entry in latest.items()}
    notes = [entry for entry in entries if entry.kind not in SUMMARY_KINDS]
    return TaskContext(
        task,
        said["progress"],
        said["findings"],
        said["blockers"],
        said["next_steps"],
        notes,
        entries if history else None,
    )


class Contexts(Service):
    @command
    def save(
        self,
        transaction: Transaction,
        place: Place,
        reference: Reference,
        *,
        progress: str | None = None,
        findings: str | None = None,
        blockers: str | None = None,
        next_steps: str | None = None,
        agent: str | None = None,
    ) -> TaskContext:
        """Up to four entries. What is not given stays as it was last said."""
        given = {"progress": progress, "findings": findings, "blockers": blockers, "next_steps": next_steps}
        if all(value is None for value in given.values()):
            raise InvalidValue("context", "nothing_to_save", choices=", ".join(SUMMARY_KINDS))
        task = tasks.locked(transaction, place, reference)
        for kind in SUMMARY_KINDS:
            content = given[kind]
            if content is not None:
                self._append(transaction, task, kind, content, agent)
        return gather(transaction, task)

    @command
    def add(
        self,
        transaction: Transaction,
        place: Place,
        reference: Reference,
        content: str,
        kind: ContextKind,
        agent: str | None = None,
    ) -> ContextEntry:
        """One entry of any kind."""
        if not content.strip():
            raise InvalidValue("content", "blank")
        return self._append(transaction, tasks.locked(transaction, place, reference), kind, content, agent)

    @query
    def show(
        self, transaction: Transaction, place: Place, reference: Reference, *, history: bool = False
    ) -> TaskContext:
        return gather(transaction, tasks.find(transaction, place, reference), history=history)

    def _append(
        self, transaction: Transaction, task: Task, kind: ContextKind, content: str, agent: str | None
    ) -> ContextEntry:
        now = self.clock()
        entry = ContextEntry(
            id=self.identifiers.new("context"),
            project_id=task.project_id,
            task_id=task.id,
            agent_id=agents.find(transaction, agent).id if agent else None,
            kind=kind,
            content=text.long(kind, content),
            created_at=now,
        )
        transaction.contexts.add(Change(entry, "context.added", now))
        return entry
