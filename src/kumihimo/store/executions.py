"""Executions: the queue of wishes, the claims on them, and what came of each."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from kumihimo.domain.execution import Execution, ExecutionStatus, Report
from kumihimo.store.filters import Where
from kumihimo.store.mapping import TableMapping, microseconds
from kumihimo.store.paging import Page, decode, encode
from kumihimo.store.repository import Repository


class Executions(Repository[Execution]):
    mapping = TableMapping(
        "executions",
        Execution,
        times=("queued_at", "started_at", "ended_at", "lease_until"),
        json={"artifacts": tuple[str, ...], "report": Report},
    )

    def numbered(self, project_id: str, number: int) -> Execution | None:
        return self.one("project_id = ? AND number = ?", project_id, number)

    def next_queued(self) -> Execution | None:
        """The oldest wish that nobody is about to claim; ours until we commit."""
        rows = self._connection.execute(
            "SELECT id FROM executions WHERE status = 'queued' AND origin IN ('group', 'worker') ORDER BY queued_at, id LIMIT 1 "
            + self._connection.dialect.skip_locked
        )
        return self.get(rows[0][0]) if rows else None

    def live_session(self, task_id: str) -> Execution | None:
        """The running session of a task, as the unique index has it."""
        return self.one(
            "task_id = ? AND status IN ('queued', 'starting', 'running') AND origin IN ('session', 'worker')",
            task_id,
        )

    def of_session(self, session_id: str) -> list[Execution]:
        """The runs that an agent's session opened and that are not over."""
        return self.many(
            "WHERE session_id = ? AND status IN ('queued', 'starting', 'running') ORDER BY queued_at", (session_id,)
        )

    def live_on_task(self, task_id: str) -> bool:
        return bool(self.count("task_id = ? AND status IN ('queued', 'starting', 'running')", task_id))

    def expired(self, now: datetime, limit: int = 100) -> list[Execution]:
        """Claims whose lease ran out."""
        return self.many("WHERE lease_until < ? ORDER BY lease_until LIMIT ?", (microseconds(now), limit))

    def running_in_group(self, group_id: str) -> int:
        return self.count("group_id = ? AND status IN ('queued', 'starting', 'running')", group_id)

    def page(
        self,
        *,
        project_id: str | None = None,
        task_id: str | None = None,
        agent_id: str | None = None,
        statuses: Collection[ExecutionStatus] | None = None,
        numbered: bool = False,
        limit: int,
        cursor: str | None = None,
    ) -> Page[Execution]:
        """Newest first; `numbered` keeps those that are sessions of tasks."""
        where = Where().equal("project_id", project_id).equal("task_id", task_id).equal("agent_id", agent_id)
        where.among("status", statuses)
        if numbered:
            where.condition("number IS NOT NULL")
        if cursor is not None:
            where.condition("(queued_at, id) < (?, ?)", *decode(cursor, int, str))
        found = self.many(f"{where.text} ORDER BY queued_at DESC, id DESC LIMIT ?", (*where.values, limit + 1))
        if len(found) <= limit:
            return Page(found)
        last = found[limit - 1]
        return Page(found[:limit], encode(microseconds(last.queued_at), last.id))
