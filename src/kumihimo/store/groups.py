"""Groups of runs."""

from __future__ import annotations

from kumihimo.domain.group import Group
from kumihimo.store.mapping import TableMapping
from kumihimo.store.repository import Repository


class Groups(Repository[Group]):
    mapping = TableMapping("run_groups", Group, times=("created_at", "deleted_at"))

    def lock_of_stage(self, execution_id: str) -> None:
        """The group in which a run is part of a stage, if it is: nobody else changes it until we commit."""
        if self._connection.dialect.row_locks:
            self._connection.execute(
                "SELECT 1 FROM run_groups WHERE id = (SELECT group_id FROM executions WHERE id = ? AND stage IS NOT NULL) "
                "FOR NO KEY UPDATE",
                (execution_id,),
            )

    def newest(self, limit: int = 1_000) -> list[Group]:
        return self.many("ORDER BY created_at DESC, id DESC LIMIT ?", (limit,))
