"""The memory bank: decisions of projects."""

from __future__ import annotations

from kumihimo.domain.memory import Memory, MemoryStatus, identify
from kumihimo.store.filters import Where
from kumihimo.store.mapping import TableMapping
from kumihimo.store.repository import Repository


class Memories(Repository[Memory]):
    mapping = TableMapping("memories", Memory, times=("created_at", "updated_at"))

    def with_slug(self, project_id: str, slug: str) -> Memory | None:
        return self.get(identify(project_id, slug))

    def of_project(
        self,
        project_id: str,
        *,
        category: str | None = None,
        status: MemoryStatus | None = None,
        after: str | None = None,
        limit: int = 1_000,
    ) -> list[Memory]:
        """By slug."""
        where = Where().equal("project_id", project_id).equal("category", category).equal("status", status)
        if after is not None:
            where.condition("slug > ?", after)
        return self.many(f"{where.text} ORDER BY slug LIMIT ?", (*where.values, limit))
