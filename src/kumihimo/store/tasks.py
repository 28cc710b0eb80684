"""Tasks and what they depend on."""

from __future__ import annotations

from collections.abc import Collection

from kumihimo.domain.agent import Scope
from kumihimo.domain.event import Change
from kumihimo.domain.retry import RetryPolicy
from kumihimo.domain.task import Task, TaskStatus
from kumihimo.store.filters import Where
from kumihimo.store.mapping import TableMapping
from kumihimo.store.paging import Page, decode, encode
from kumihimo.store.repository import Repository


class Tasks(Repository[Task]):
    mapping = TableMapping(
        "tasks",
        Task,
        times=("created_at", "updated_at", "assigned_at"),
        json={"dod": tuple[str, ...], "scope": Scope, "retry": RetryPolicy},
        derived={
            # Most tasks wait for nothing: asking whether there is anything costs a tenth of putting it together.
            "depends_on": "CASE WHEN EXISTS (SELECT 1 FROM task_dependencies WHERE task_id = tasks.id) THEN"
            " (SELECT string_agg(depends_on_id, ',' ORDER BY position) FROM task_dependencies"
            " WHERE task_id = tasks.id) ELSE '' END AS depends_on"
        },
    )

    def numbered(self, project_id: str, number: int) -> Task | None:
        return self.one("project_id = ? AND number = ?", project_id, number)

    def by_ids(self, identifiers: Collection[str]) -> dict[str, Task]:
        if not identifiers:
            return {}
        where = Where().among("id", identifiers)
        return {task.id: task for task in self.many(where.text, where.values)}

    def page(
        self,
        *,
        project_id: str,
        statuses: Collection[TaskStatus] | None = None,
        assignee_id: str | None = None,
        limit: int,
        cursor: str | None = None,
    ) -> Page[Task]:
        """Newest first. Several statuses are asked for one by one: each is then the end of an index."""
        before = None if cursor is None else decode(cursor, int)[0]
        tasks: list[Task] = []
        for status in statuses or (None,):
            where = Where().equal("project_id", project_id).equal("status", status).equal("assignee_id", assignee_id)
            if before is not None:
                where.condition("number < ?", before)
            tasks += self.many(f"{where.text} ORDER BY number DESC LIMIT ?", (*where.values, limit + 1))
        tasks.sort(key=lambda task: -task.number)
        more = len(tasks) > limit
        return Page(tasks[:limit], encode(tasks[limit - 1].number) if more else None)

    def newest_and_open(self, ended: int, still_open: int) -> list[Task]:
        """What is to be done in any project, and the newest of what is over."""
        undone = self.many(
            "WHERE status NOT IN ('done', 'cancelled') ORDER BY created_at DESC, id DESC LIMIT ?", (still_open,)
        )
        over = self.many("WHERE status IN ('done', 'cancelled') ORDER BY updated_at DESC, id DESC LIMIT ?", (ended,))
        return [*undone, *over]

    def in_progress(self, assignee_id: str, project_id: str) -> list[Task]:
        """What an agent is to do in a project: the most urgent first, then the oldest."""
        return self.many(
            "WHERE assignee_id = ? AND project_id = ? AND status = 'in_progress' ORDER BY CASE priority "
            "WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END, number",
            (assignee_id, project_id),
        )

    def pairs_in_progress(self) -> list[tuple[str, str]]:
        """Every (agent, project) that has something to do."""
        rows = self._connection.execute(
            "SELECT DISTINCT assignee_id, project_id FROM tasks WHERE status = 'in_progress' AND assignee_id IS NOT NULL"
        )
        return [(agent, project) for agent, project in rows]

    def counts(self, project_id: str) -> dict[str, int]:
        rows = self._connection.execute(
            "SELECT status, count(*) FROM tasks WHERE project_id = ? GROUP BY status", (project_id,)
        )
        return {status: count for status, count in rows}  # noqa: C416 - rows are sequences, not pairs

    def subtasks(self, parent_ids: Collection[str]) -> dict[str, list[int]]:
        """The numbers of the subtasks of each of these."""
        if not parent_ids:
            return {}
        where = Where().among("parent_id", parent_ids)
        found: dict[str, list[int]] = {}
        for parent, number in self._connection.execute(
            f"SELECT parent_id, number FROM tasks {where.text} ORDER BY number", where.values
        ):
            found.setdefault(parent, []).append(number)
        return found

    def open_subtasks(self, task_id: str) -> list[int]:
        rows = self._connection.execute(
            "SELECT number FROM tasks WHERE parent_id = ? AND status NOT IN ('done', 'cancelled') ORDER BY number",
            (task_id,),
        )
        return [row[0] for row in rows]

    def open_dependencies(self, task_id: str) -> list[int]:
        rows = self._connection.execute(
            "SELECT target.number FROM task_dependencies AS link JOIN tasks AS target ON target.id = link.depends_on_id "
            "WHERE link.task_id = ? AND target.status <> 'done' ORDER BY target.number",
            (task_id,),
        )
        return [row[0] for row in rows]

    def depends_on(self, task_id: str, target_id: str) -> bool:
        """Whether a task waits for another, over any number of others."""
        return self._reaches("depends_on_id", "task_dependencies AS link ON link.task_id = seen.id", task_id, target_id)

    def descends_from(self, task_id: str, ancestor_id: str) -> bool:
        """Whether a task is another's subtask, over any number of levels."""
        return self._reaches("parent_id", "tasks AS link ON link.id = seen.id", task_id, ancestor_id)

    def _reaches(self, column: str, link: str, start: str, goal: str) -> bool:
        rows = self._connection.execute(
            f"WITH RECURSIVE seen (id) AS (SELECT id FROM tasks WHERE id = ? UNION SELECT link.{column} FROM seen "
            f"JOIN {link} WHERE link.{column} IS NOT NULL) SELECT 1 FROM seen WHERE id = ? LIMIT 1",
            (start, goal),
        )
        return bool(rows)

    def add_task(self, change: Change[Task]) -> bool:
        """A new task with what it depends on."""
        added = self.add(change)
        self._write_dependencies(change.value)
        return added

    def save_dependencies(self, change: Change[Task]) -> None:
        """A task whose dependencies have changed."""
        self._connection.execute("DELETE FROM task_dependencies WHERE task_id = ?", (change.value.id,))
        self._write_dependencies(change.value)
        self.save(change)

    def _write_dependencies(self, task: Task) -> None:
        for position, target in enumerate(task.depends_on):
            self._connection.execute(
                "INSERT INTO task_dependencies (task_id, depends_on_id, position) VALUES (?, ?, ?)",
                (task.id, target, position),
            )
