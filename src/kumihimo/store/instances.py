"""Instances of Runners, and the orders that started them."""

from __future__ import annotations

from datetime import datetime

from kumihimo.domain.instance import Instance
from kumihimo.store.mapping import TableMapping, microseconds
from kumihimo.store.repository import Repository


class Instances(Repository[Instance]):
    mapping = TableMapping("instances", Instance, times=("started_at", "seen_at", "ended_at"))

    def current(self, agent_id: str, project_id: str) -> Instance | None:
        """The newest one of a pair that has not exited."""
        return self.one(
            "agent_id = ? AND project_id = ? AND state <> 'exited' ORDER BY started_at DESC", agent_id, project_id
        )

    def newest(self, agent_id: str, project_id: str, limit: int) -> list[Instance]:
        return self.many(
            "WHERE agent_id = ? AND project_id = ? ORDER BY started_at DESC, id DESC LIMIT ?",
            (agent_id, project_id, limit),
        )

    def order(self, agent_id: str, project_id: str, at: datetime, not_since: datetime) -> bool:
        """Note that a pair is told to start. False where it was told since `not_since`: one asker wins, whoever races."""
        won = self._connection.execute(
            "INSERT INTO start_orders (agent_id, project_id, told_at) VALUES (?, ?, ?) "
            "ON CONFLICT (agent_id, project_id) DO UPDATE SET told_at = excluded.told_at WHERE start_orders.told_at <= ? "
            "RETURNING 1",
            (agent_id, project_id, microseconds(at), microseconds(not_since)),
        )
        return bool(won)

    def ordered_since(self, agent_id: str, project_id: str, since: datetime) -> bool:
        rows = self._connection.execute(
            "SELECT 1 FROM start_orders WHERE agent_id = ? AND project_id = ? AND told_at > ?",
            (agent_id, project_id, microseconds(since)),
        )
        return bool(rows)

    def settle_order(self, agent_id: str, project_id: str) -> None:
        """What was ordered has come, or will not: it may be ordered again."""
        self._connection.execute(
            "DELETE FROM start_orders WHERE agent_id = ? AND project_id = ?", (agent_id, project_id)
        )
