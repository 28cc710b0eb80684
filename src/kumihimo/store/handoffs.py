"""Handoffs, waiting and taken up."""

from __future__ import annotations

from datetime import datetime

from kumihimo.domain.handoff import Handoff
from kumihimo.store.filters import Where
from kumihimo.store.mapping import TableMapping, microseconds
from kumihimo.store.repository import Repository


class Handoffs(Repository[Handoff]):
    mapping = TableMapping(
        "handoffs",
        Handoff,
        times=("created_at", "accepted_at"),
        json={"next_steps": tuple[str, ...], "warnings": tuple[str, ...]},
    )

    def latest(self, task_id: str) -> Handoff | None:
        return self.one("task_id = ? ORDER BY seq DESC", task_id)

    def waiting_from(self, task_id: str, giver_id: str, since: datetime) -> Handoff | None:
        """The last one by which an agent gave a task to another since then, if that one has not accepted it yet."""
        return self.one(
            "task_id = ? AND from_agent_id = ? AND to_agent_id IS NOT NULL AND accepted_at IS NULL AND created_at >= ? "
            "ORDER BY seq DESC",
            task_id,
            giver_id,
            microseconds(since),
        )

    def pending(
        self, *, project_ids: list[str] | None = None, agent_id: str | None = None, limit: int = 1_000
    ) -> list[Handoff]:
        """What waits, oldest first. For an agent: what is meant for it, and what is meant for anybody."""
        where = Where().condition("accepted_at IS NULL").among("project_id", project_ids)
        if agent_id is not None:
            where.condition("(to_agent_id = ? OR (to_agent_id IS NULL AND from_agent_id <> ?))", agent_id, agent_id)
        return self.many(f"{where.text} ORDER BY seq LIMIT ?", (*where.values, limit))
