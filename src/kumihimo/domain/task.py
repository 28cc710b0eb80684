"""A task: a piece of work on a project's board, with its place in the plan and who does it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.agent import AgentType, Scope
from kumihimo.domain.event import Change
from kumihimo.domain.retry import RetryPolicy
from kumihimo.domain.states import StateTable

TaskStatus = Literal["backlog", "todo", "in_progress", "blocked", "done", "cancelled"]
Priority = Literal["low", "medium", "high", "critical"]
TaskType = Literal["task", "feature", "bug", "refactor"]

STATES = StateTable.of_targets(
    "task",
    ("backlog", "todo"),
    {
        "backlog": ("todo", "cancelled"),
        "todo": ("in_progress", "backlog", "cancelled"),
        "in_progress": ("done", "blocked", "todo", "cancelled"),
        "blocked": ("in_progress", "todo", "cancelled"),
    },
)

ASSIGNABLE: frozenset[TaskStatus] = frozenset({"backlog", "todo", "blocked"})
ENDED: frozenset[TaskStatus] = frozenset({"done", "cancelled"})


class Task(Struct, frozen=True):
    id: str
    number: int
    project_id: str
    title: str
    description: str
    status: TaskStatus
    status_reason: str | None
    priority: Priority
    type: TaskType
    assignee_id: str | None
    assignee_type: AgentType | None
    parent_id: str | None
    dod: tuple[str, ...]
    scope: Scope
    created_at: datetime
    updated_at: datetime
    assigned_at: datetime | None = None
    claimed_by: str | None = None
    depends_on: tuple[str, ...] = ()
    host: str | None = None
    """Where its workers are to run: the name, the id or a label of a host."""
    retry: RetryPolicy = RetryPolicy()

    def move(self, to: str, at: datetime, reason: str | None = None) -> Change[Task]:
        """To another status, as the table allows. The rules that need other things are the service's."""
        status = STATES.next(self.number, self.status, to)
        moved = replace(self, status=status, status_reason=reason, claimed_by=None, updated_at=at)
        return Change(moved, "task.moved", at)

    def claim(self, execution_id: str, at: datetime) -> Change[Task]:
        """A run says that it has done it. That is kept as a claim until the facts are there."""
        return Change(replace(self, claimed_by=execution_id, updated_at=at), "task.claimed", at)

    def assign(self, agent_id: str, at: datetime) -> Change[Task]:
        changed = replace(
            self, assignee_id=agent_id, assignee_type=None, assigned_at=at, claimed_by=None, updated_at=at
        )
        return Change(changed, "task.assigned", at)

    def edit(self, at: datetime, **fields: object) -> Change[Task]:
        return Change(replace(self, **fields, updated_at=at), "task.updated", at)
