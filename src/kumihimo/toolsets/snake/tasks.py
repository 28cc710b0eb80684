"""Tasks."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from kumihimo.domain.task import Task
from kumihimo.services.assignments import Assignment
from kumihimo.services.tasks import TaskView
from kumihimo.settings import Language
from kumihimo.store.paging import Page
from kumihimo.toolsets.snake.answer import Answer, Shape


class TaskShape(Shape, frozen=True):
    task_id: str
    number: int
    project_id: str
    title: str
    description: str
    status: str
    reason: str | None
    priority: str
    type: str
    assignee_id: str | None
    parent_task_id: str | None
    depends_on: list[str]
    created_at: datetime
    updated_at: datetime


class TaskAnswer(Answer, frozen=True):
    task: TaskShape


class TasksAnswer(Answer, frozen=True):
    tasks: list[TaskShape]
    next_cursor: str | UnsetType = UNSET


class PendingTask(Struct, frozen=True, kw_only=True, rename="camel"):
    """An entry of the deprecated list."""

    task_id: str
    project_id: str
    title: str
    description: str
    priority: str
    working_directory: str
    assigned_at: datetime | None


class PendingTasksAnswer(Answer, frozen=True):
    tasks: list[PendingTask]


def shape(it: Task) -> TaskShape:
    return TaskShape(
        task_id=it.id,
        number=it.number,
        project_id=it.project_id,
        title=it.title,
        description=it.description,
        status=it.status,
        reason=it.status_reason,
        priority=it.priority,
        type=it.type,
        assignee_id=it.assignee_id,
        parent_task_id=it.parent_id,
        depends_on=list(it.depends_on),
        created_at=it.created_at,
        updated_at=it.updated_at,
    )


def one(view: TaskView, _: Language) -> TaskAnswer:
    return TaskAnswer(task=shape(view.task))


def bare(it: Task, _: Language) -> TaskAnswer:
    return TaskAnswer(task=shape(it))


def many(views: list[TaskView], _: Language) -> TasksAnswer:
    return TasksAnswer(tasks=[shape(view.task) for view in views])


def page(found: Page[TaskView], _: Language) -> TasksAnswer:
    return TasksAnswer(tasks=[shape(view.task) for view in found.items], next_cursor=found.next_cursor or UNSET)


def pending(found: list[Assignment], _: Language) -> PendingTasksAnswer:
    return PendingTasksAnswer(
        tasks=[
            PendingTask(
                task_id=it.task.id,
                project_id=it.task.project_id,
                title=it.task.title,
                description=it.task.description,
                priority=it.task.priority,
                working_directory=it.project.working_directory,
                assigned_at=it.task.assigned_at,
            )
            for it in found
        ]
    )
