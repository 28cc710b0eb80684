"""What was learnt about tasks, in the order in which it was."""

from __future__ import annotations

from kumihimo.domain.context import ContextEntry
from kumihimo.store.mapping import TableMapping
from kumihimo.store.repository import Repository


class Contexts(Repository[ContextEntry]):
    mapping = TableMapping("context_entries", ContextEntry, times=("created_at",))

    def of_task(self, task_id: str, limit: int = 1_000) -> list[ContextEntry]:
        """Everything, oldest first; of very long histories the newest part."""
        newest = self.many("WHERE task_id = ? ORDER BY seq DESC LIMIT ?", (task_id, limit))
        return newest[::-1]

    def newest(self, task_id: str, kind: str) -> ContextEntry | None:
        return self.one("task_id = ? AND kind = ? ORDER BY seq DESC", task_id, kind)
