"""Handoffs: one agent leaves work for another, who takes it up."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kumihimo.domain import text
from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import HandoffNotFound, PermissionDenied
from kumihimo.domain.event import Change
from kumihimo.domain.handoff import Handoff
from kumihimo.domain.task import Task
from kumihimo.services import agents, projects, tasks
from kumihimo.services.projects import Place
from kumihimo.services.references import by_id
from kumihimo.services.service import Service, command, query
from kumihimo.services.tasks import Reference
from kumihimo.store.store import Transaction


class HandoffView(msgspec.Struct, frozen=True):
    """A handoff with the names of those it concerns."""

    handoff: Handoff
    task: Task
    from_agent: Agent
    to_agent: Agent | None


def find(transaction: Transaction, reference: str) -> Handoff:
    found = by_id(transaction.handoffs, "hnd_", reference)
    if found is None:
        raise HandoffNotFound(reference[:80])
    return found


def view(transaction: Transaction, handoffs: Sequence[Handoff]) -> list[HandoffView]:
    works = transaction.tasks.by_ids({handoff.task_id for handoff in handoffs})
    people = transaction.agents.by_ids({a for h in handoffs for a in (h.from_agent_id, h.to_agent_id) if a})
    return [
        HandoffView(
            handoff,
            works[handoff.task_id],
            people[handoff.from_agent_id],
            people.get(handoff.to_agent_id or ""),
        )
        for handoff in handoffs
    ]


class Handoffs(Service):
    @command
    def create(
        self,
        transaction: Transaction,
        place: Place,
        reference: Reference,
        *,
        from_agent: str,
        summary: str,
        to_agent: str | None = None,
        context: str | None = None,
        recommendations: str | None = None,
        next_steps: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> HandoffView:
        task = tasks.find(transaction, place, reference)
        giver = agents.find(transaction, from_agent)
        taker = agents.find(transaction, to_agent) if to_agent else None
        now = self.clock()
        if not summary.strip():
            text.line("summary", summary)
        handoff = Handoff(
            id=self.identifiers.new("handoff"),
            project_id=task.project_id,
            task_id=task.id,
            from_agent_id=giver.id,
            to_agent_id=taker.id if taker else None,
            summary=text.long("summary", summary),
            context=text.long_or_none("context", context),
            recommendations=text.long_or_none("recommendations", recommendations),
            next_steps=tuple(text.long("next_steps", step) for step in next_steps),
            warnings=tuple(text.long("warnings", warning) for warning in warnings),
            created_at=now,
            accepted_at=None,
            accepted_by=None,
        )
        transaction.handoffs.add(Change(handoff, "handoff.created", now))
        return HandoffView(handoff, task, giver, taker)

    @command
    def accept(
        self, transaction: Transaction, reference: str, agent: str, *, project_id: str | None = None
    ) -> HandoffView:
        """Only by whom it is meant for; one for anybody, by whoever is in the project. `project_id` allows no other."""
        found = find(transaction, reference)
        if project_id not in (None, found.project_id):
            raise HandoffNotFound(reference[:80])
        handoff = transaction.handoffs.lock(found.id) or found
        taker = agents.find(transaction, agent)
        project = projects.find(transaction, handoff.project_id)
        if handoff.to_agent_id is not None and handoff.to_agent_id != taker.id:
            raise PermissionDenied(f"handoff {handoff.id} is meant for another agent than {taker.name}")
        if taker.id not in project.agent_ids:
            raise PermissionDenied(f"{taker.name} is not in project {project.name}")
        change = handoff.accept(taker.id, self.clock())
        transaction.handoffs.save(change)
        return view(transaction, [change.value])[0]

    @query
    def pending(
        self, transaction: Transaction, *, place: Place | None = None, agent: str | None = None
    ) -> list[HandoffView]:
        """What waits, oldest first. For an agent: what it may accept, in every project it is in or in the given one."""
        someone = agents.find(transaction, agent) if agent else None
        scope = None if place is None else [projects.at(transaction, place).id]
        if someone is not None and scope is None:
            scope = [project.id for project in transaction.projects.all() if someone.id in project.agent_ids]
            if not scope:
                return []
        return view(
            transaction,
            transaction.handoffs.pending(project_ids=scope, agent_id=someone.id if someone else None),
        )

    @query
    def latest(self, transaction: Transaction, place: Place, reference: Reference) -> Handoff | None:
        return transaction.handoffs.latest(tasks.find(transaction, place, reference).id)
