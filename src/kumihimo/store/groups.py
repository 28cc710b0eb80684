"""Groups of runs."""

from __future__ import annotations

from kumihimo.domain.group import Group
from kumihimo.store.mapping import TableMapping
from kumihimo.store.repository import Repository


class Groups(Repository[Group]):
    mapping = TableMapping("run_groups", Group, times=("created_at", "deleted_at"))

    def newest(self, limit: int = 1_000) -> list[Group]:
        return self.many("ORDER BY created_at DESC, id DESC LIMIT ?", (limit,))
