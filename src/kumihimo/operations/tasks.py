"""Tasks."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from kumihimo.domain.agent import AgentType
from kumihimo.domain.errors import (
    AgentNotFound,
    DependencyCycle,
    IllegalTransition,
    InvalidValue,
    ProjectArchived,
    ProjectNotFound,
    TaskHeld,
    TaskNotFound,
    TaskNotReady,
)
from kumihimo.domain.retry import REASONS
from kumihimo.domain.task import Priority, Task, TaskStatus, TaskType
from kumihimo.operations.agents import Checks, Cursor, ExcludeGlobs, Limit, WriteGlobs
from kumihimo.operations.hosts import HostName
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.operations.projects import AgentName, ProjectName
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask, TaskView
from kumihimo.store.paging import Page

# The board's own words, and those in which an editor speaks of the same.
StatusWord = Literal["backlog", "todo", "in_progress", "blocked", "done", "cancelled", "open", "failed"]
PriorityWord = Literal["low", "medium", "high", "critical", "urgent"]

TaskName = Annotated[str | int, Meta(description="A task: its number, its tsk_ id, or the beginning of that.")]
Title = Annotated[str, Meta(description="What is to be done, in one line.")]
Description = Annotated[str, Meta(description="The whole of it.")]
Urgency = Annotated[PriorityWord, Meta(description="How much it matters.")]
Sort = Annotated[TaskType, Meta(description="Which sort of work it is.")]
Assignee = Annotated[str, Meta(description="The agent that does it, by name or id.")]
AssigneeType = Annotated[AgentType, Meta(description="Whether an AI or a person is to do it.")]
Parent = Annotated[str | int, Meta(description="The task of which this is a part.")]
DependsOn = Annotated[list[str | int], Meta(description="The tasks that must be done first.")]
Retries = Annotated[int, Meta(description="How many more runs it gets by itself when one ends badly; 0 for none.")]
RetryOn = Annotated[
    list[str], Meta(description=f"After which ends: {', '.join(REASONS)}. Only lost if nothing else is said.")
]


class CreateTask(Arguments, frozen=True):
    title: Title
    description: Description = ""
    priority: Urgency = "medium"
    type: Sort = "task"
    assignee: Assignee | None = None
    assignee_type: AssigneeType | None = None
    depends_on: DependsOn = []  # noqa: RUF012 - msgspec copies it
    parent: Parent | None = None
    status: Annotated[StatusWord, Meta(description="Where it begins: backlog, todo or in_progress.")] = "todo"
    dod: Checks = []  # noqa: RUF012
    write: WriteGlobs = []  # noqa: RUF012
    exclude: ExcludeGlobs = []  # noqa: RUF012
    host: HostName | None = None
    retries: Retries | None = None
    retry_on: RetryOn | None = None


class ListTasks(Arguments, frozen=True):
    status: Annotated[StatusWord | None, Meta(description="Only those in this status; open is backlog and todo.")] = (
        None
    )
    assignee: Assignee | None = None
    limit: Limit | None = None
    cursor: Cursor | None = None


class NameTask(Arguments, frozen=True):
    task: TaskName


class UpdateTask(Arguments, frozen=True):
    task: TaskName
    title: Title | None = None
    description: Description | None = None
    priority: Urgency | None = None
    type: Sort | None = None
    assignee: Assignee | None = None
    assignee_type: AssigneeType | None = None
    depends_on: DependsOn | None = None
    parent: Parent | None = None
    status: Annotated[StatusWord | None, Meta(description="Where it goes, as the board allows.")] = None
    reason: Annotated[str | None, Meta(description="Why it goes there.")] = None
    force: Annotated[bool, Meta(description="Done although its checks have not passed: a person's decision.")] = False
    dod: Checks | None = None
    write: WriteGlobs | None = None
    exclude: ExcludeGlobs | None = None
    host: Annotated[
        str | None, Meta(description="Where it is to run: a host's name, id or label; '' for anywhere.")
    ] = None
    retries: Retries | None = None
    retry_on: RetryOn | None = None


class ListProjectTasks(Arguments, frozen=True):
    project_id: ProjectName
    status: Annotated[TaskStatus | None, Meta(description="Only those in this status.")] = None
    assignee_id: Assignee | None = None
    limit: Limit | None = None
    cursor: Cursor | None = None


class CreateProjectTask(Arguments, frozen=True):
    project_id: ProjectName
    title: Title
    description: Description = ""
    priority: Urgency = "medium"
    type: Sort = "task"
    assignee_id: Assignee | None = None
    depends_on: DependsOn = []  # noqa: RUF012
    parent_task_id: Parent | None = None


class DependTask(Arguments, frozen=True):
    task: TaskName
    depends_on: Annotated[str | int, Meta(description="The task that must be done first.")]


class AssignTask(Arguments, frozen=True):
    task: TaskName
    agent: AgentName


def _priority(word: PriorityWord | None) -> Priority | None:
    return "critical" if word == "urgent" else word


def _meant(word: StatusWord) -> TaskStatus:
    """The status that an editor's word means in an update."""
    return "todo" if word == "open" else "blocked" if word == "failed" else word


def seen_as(word: StatusWord | None) -> tuple[TaskStatus, ...] | None:
    """The statuses that a word stands for in a filter."""
    if word is None:
        return None
    return ("backlog", "todo") if word == "open" else ("blocked",) if word == "failed" else (word,)


@operation("task.create", CreateTask, TaskView, InvalidValue, AgentNotFound, ProjectArchived, TaskNotReady)
def create(call: Call, arguments: CreateTask) -> TaskView:
    """A new task on the board of a project."""
    new = NewTask(
        title=arguments.title,
        description=arguments.description,
        priority=_priority(arguments.priority) or "medium",
        type=arguments.type,
        status=_meant(arguments.status),
        assignee=arguments.assignee,
        assignee_type=arguments.assignee_type,
        parent=arguments.parent,
        depends_on=arguments.depends_on,
        dod=arguments.dod,
        write=arguments.write,
        exclude=arguments.exclude,
        host=arguments.host,
        retries=arguments.retries,
        retry_on=arguments.retry_on,
    )
    return call.board.tasks.create(call.place, new)


@operation("task.list", ListTasks, Page[TaskView], AgentNotFound, InvalidValue, reads=True)
def list_(call: Call, arguments: ListTasks) -> Page[TaskView]:
    """The tasks of a project, newest first, 20 at a time unless told otherwise."""
    return call.board.tasks.list(
        call.place,
        statuses=seen_as(arguments.status),
        assignee=arguments.assignee,
        limit=arguments.limit,
        cursor=arguments.cursor,
    )


@operation("task.show", NameTask, TaskView, TaskNotFound, reads=True)
def show(call: Call, arguments: NameTask) -> TaskView:
    """One task with all there is to know about it."""
    return call.board.tasks.show(call.place, arguments.task)


@operation("task.get", NameTask, Task, TaskNotFound, reads=True)
def get(call: Call, arguments: NameTask) -> Task:
    """One task: what is to be done, where it stands, who does it, and what it waits for."""
    return call.board.tasks.get(call.place, arguments.task)


@operation(
    "task.update", UpdateTask, TaskView,
    TaskNotFound, AgentNotFound, InvalidValue, IllegalTransition, ProjectArchived, TaskNotReady, TaskHeld, DependencyCycle,
    idempotent=True,
)  # fmt: skip
def update(call: Call, arguments: UpdateTask) -> TaskView:
    """Change what is given; the rest stays. The status moves as the board allows; --depends-on replaces the whole list."""
    return call.board.tasks.update(
        call.place,
        arguments.task,
        status=_meant(arguments.status) if arguments.status else None,
        reason=arguments.reason,
        force=arguments.force,
        assignee=arguments.assignee,
        assignee_type=arguments.assignee_type,
        title=arguments.title,
        description=arguments.description,
        priority=_priority(arguments.priority),
        type=arguments.type,
        parent=arguments.parent,
        depends_on=arguments.depends_on,
        dod=arguments.dod,
        write=arguments.write,
        exclude=arguments.exclude,
        host=arguments.host,
        retries=arguments.retries,
        retry_on=arguments.retry_on,
    )


@operation("task.assign", AssignTask, TaskView, TaskNotFound, AgentNotFound, TaskHeld, idempotent=True)
def assign(call: Call, arguments: AssignTask) -> TaskView:
    """Give a task to an agent, while it is in the backlog, to do, or blocked."""
    return call.board.tasks.assign(call.place, arguments.task, arguments.agent)


@operation(
    "task.list_of_project", ListProjectTasks, Page[TaskView], ProjectNotFound, AgentNotFound, InvalidValue, reads=True
)
def list_of_project(call: Call, arguments: ListProjectTasks) -> Page[TaskView]:
    """The tasks of a project, newest first, 1,000 at a time unless told otherwise."""
    return call.board.tasks.list(
        Place(arguments.project_id),
        statuses=(arguments.status,) if arguments.status else None,
        assignee=arguments.assignee_id,
        limit=arguments.limit or 1_000,
        cursor=arguments.cursor,
    )


@operation(
    "task.create_in_project", CreateProjectTask, TaskView, ProjectNotFound, InvalidValue, AgentNotFound, ProjectArchived
)
def create_in_project(call: Call, arguments: CreateProjectTask) -> TaskView:
    """A new task on the board of a project."""
    new = NewTask(
        title=arguments.title,
        description=arguments.description,
        priority=_priority(arguments.priority) or "medium",
        type=arguments.type,
        assignee=arguments.assignee_id,
        parent=arguments.parent_task_id,
        depends_on=arguments.depends_on,
    )
    try:
        return call.board.tasks.create(Place(arguments.project_id), new)
    except InvalidValue as error:
        raise error.called({"parent": "parent_task_id"}) from None


@operation("task.depend", DependTask, TaskView, TaskNotFound, InvalidValue, DependencyCycle, idempotent=True)
def depend(call: Call, arguments: DependTask) -> TaskView:
    """Let a task wait for another one of its project."""
    return call.board.tasks.depend(call.place, arguments.task, arguments.depends_on)


OPERATIONS = (create, list_, show, get, update, assign, list_of_project, create_in_project, depend)
