"""Projects, who is assigned to them, and the numbers they give out."""

from __future__ import annotations

from kumihimo.domain.event import Change
from kumihimo.domain.project import Project
from kumihimo.store.mapping import TableMapping
from kumihimo.store.repository import Repository


class Projects(Repository[Project]):
    mapping = TableMapping(
        "projects",
        Project,
        times=("created_at", "updated_at"),
        flags=("worktrees",),
        derived={
            "agent_ids": "coalesce((SELECT string_agg(agent_id, ',' ORDER BY position) FROM project_agents"
            " WHERE project_id = projects.id), '') AS agent_ids"
        },
    )

    def named(self, name: str) -> Project | None:
        return self.one("name = ?", name)

    def in_folder(self, folder: str) -> Project | None:
        return self.one("working_directory = ?", folder)

    def in_folders(self, folders: list[str]) -> Project | None:
        """The project of the innermost of these folders."""
        marks = ", ".join("?" for _ in folders)
        return self.one(f"working_directory IN ({marks}) ORDER BY length(working_directory) DESC", *folders)

    def all(self, limit: int = 1_000) -> list[Project]:
        return self.many("ORDER BY name LIMIT ?", (limit,))

    def names(self) -> list[str]:
        return [row[0] for row in self._connection.execute("SELECT name FROM projects ORDER BY name LIMIT 200")]

    def save_agents(self, change: Change[Project]) -> None:
        """A project whose agents have changed."""
        project = change.value
        self._connection.execute("DELETE FROM project_agents WHERE project_id = ?", (project.id,))
        for position, agent in enumerate(project.agent_ids):
            self._connection.execute(
                "INSERT INTO project_agents (project_id, agent_id, position) VALUES (?, ?, ?)",
                (project.id, agent, position),
            )
        self.save(change)

    def take_task_number(self, project_id: str) -> int:
        return self._take("next_task_number", project_id)

    def take_session_number(self, project_id: str) -> int:
        return self._take("next_session_number", project_id)

    def _take(self, column: str, project_id: str) -> int:
        rows = self._connection.execute(
            f"UPDATE projects SET {column} = {column} + 1 WHERE id = ? RETURNING {column} - 1", (project_id,)
        )
        return rows[0][0]
