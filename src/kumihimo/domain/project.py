"""A project: a folder, the agents that may work in it, and whether work goes on there."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.event import Change
from kumihimo.domain.states import StateTable

ProjectStatus = Literal["active", "paused", "archived"]

STATES = StateTable(
    "project",
    ("active",),
    {
        ("active", "pause"): "paused",
        ("paused", "resume"): "active",
        ("active", "archive"): "archived",
        ("paused", "archive"): "archived",
        ("archived", "resume"): "active",
    },
)


class Project(Struct, frozen=True):
    id: str
    name: str
    working_directory: str
    status: ProjectStatus
    worktrees: bool
    created_at: datetime
    updated_at: datetime
    agent_ids: tuple[str, ...] = ()

    def move(self, action: str, at: datetime) -> Change[Project]:
        """pause, resume or archive."""
        status = STATES.next(self.name, self.status, action)
        return Change(replace(self, status=status, updated_at=at), f"project.{status}", at)

    def assign(self, agent_id: str, at: datetime) -> Change[Project]:
        agents = (*self.agent_ids, agent_id)
        return Change(replace(self, agent_ids=agents, updated_at=at), "project.agent_assigned", at)

    def unassign(self, agent_id: str, at: datetime) -> Change[Project]:
        agents = tuple(a for a in self.agent_ids if a != agent_id)
        return Change(replace(self, agent_ids=agents, updated_at=at), "project.agent_unassigned", at)
