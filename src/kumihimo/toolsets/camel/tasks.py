"""Tasks."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from kumihimo.services.tasks import TaskView
from kumihimo.toolsets.camel.answer import Answer


class RetryAnswer(Answer, frozen=True):
    """How often a run that ended badly is followed by another, and after which ends."""

    times: int
    on: list[str]


class TaskAnswer(Answer, frozen=True):
    id: int
    task_id: str
    project_id: str
    title: str
    description: str
    status: str
    reason: str | None
    priority: str
    type: str
    assignee: str | None
    assignee_type: str | None
    agent_id: str | None
    parent: int | None
    depends_on: list[int]
    subtasks: list[int]
    dod: list[str]
    write: list[str]
    exclude: list[str]
    created_at: datetime
    updated_at: datetime
    host: str | UnsetType = UNSET
    retry: RetryAnswer | UnsetType = UNSET


class TasksAnswer(Answer, frozen=True):
    tasks: list[TaskAnswer]
    next_cursor: str | UnsetType = UNSET


def task(view: TaskView) -> TaskAnswer:
    it, assignee = view.task, view.assignee
    return TaskAnswer(
        id=it.number,
        task_id=it.id,
        project_id=it.project_id,
        title=it.title,
        description=it.description,
        status=it.status,
        reason=it.status_reason,
        priority=it.priority,
        type=it.type,
        assignee=assignee.name if assignee else None,
        assignee_type=assignee.type if assignee else it.assignee_type,
        agent_id=it.assignee_id,
        parent=view.parent,
        depends_on=view.depends_on,
        subtasks=view.subtasks,
        dod=list(it.dod),
        write=list(it.scope.write),
        exclude=list(it.scope.exclude),
        created_at=it.created_at,
        updated_at=it.updated_at,
        host=it.host or UNSET,
        retry=RetryAnswer(times=it.retry.times, on=list(it.retry.on)) if it.retry.times else UNSET,
    )
