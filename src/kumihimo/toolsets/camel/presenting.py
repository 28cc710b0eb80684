"""Which shape each answer has."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from msgspec import Struct

from kumihimo.domain.agent import Agent
from kumihimo.domain.context import ContextEntry
from kumihimo.domain.execution import Execution
from kumihimo.domain.finding import Finding
from kumihimo.domain.group import Group
from kumihimo.domain.memory import Memory
from kumihimo.domain.proof import Proof
from kumihimo.domain.session import Session
from kumihimo.engine.worktrees.removal import Removal
from kumihimo.hub.results import Answer as HubAnswer
from kumihimo.operations.groups import Deleted, GroupView, Planned, Started
from kumihimo.operations.instances import RunnerToken
from kumihimo.operations.operation import Shape
from kumihimo.operations.projects import ProjectView
from kumihimo.operations.roles import Role
from kumihimo.operations.runs import Begun, Stopped, Waited
from kumihimo.operations.workers import Commanded, WorkerWaited
from kumihimo.operations.worktrees import WorktreeView
from kumihimo.services.agents import KeyedAgent
from kumihimo.services.contexts import TaskContext
from kumihimo.services.handoffs import HandoffView
from kumihimo.services.hosts import HostView
from kumihimo.services.memories import Preview
from kumihimo.services.merge_result import MergeResult
from kumihimo.services.outputs import Output
from kumihimo.services.projects import Initialised
from kumihimo.services.sessions import Login
from kumihimo.services.sights import Sight
from kumihimo.services.tasks import TaskView
from kumihimo.services.upkeep import Condition, Copied, Migration, Overview
from kumihimo.services.worksessions import WorkSession
from kumihimo.store.paging import Page
from kumihimo.toolsets.camel import (
    agents,
    contexts,
    executions,
    groups,
    handoffs,
    hosts,
    hub,
    memories,
    projects,
    roles,
    runs,
    sessions,
    tasks,
    upkeep,
    workers,
    worktrees,
)
from kumihimo.toolsets.camel.answer import Answer

# The shape of each answer, by the type that an operation declares. A test holds this against the catalogue.
ONE: dict[Any, Callable[[Any], Struct]] = {
    ProjectView: projects.project,
    Initialised: projects.initialised,
    Agent: agents.agent,
    KeyedAgent: agents.keyed_agent,
    TaskView: tasks.task,
    ContextEntry: contexts.context_entry,
    TaskContext: contexts.context,
    HandoffView: handoffs.handoff,
    Memory: memories.memory,
    Preview: memories.preview,
    WorkSession: sessions.work_session,
    Login: sessions.login,
    Session: sessions.session,
    Execution: executions.execution,
    Group: groups.group,
    GroupView: groups.group_detail,
    Planned: groups.staged,
    Deleted: groups.deleted,
    Begun: runs.begun,
    Started: groups.started,
    Sight: runs.agent,
    Waited: runs.waited,
    Stopped: runs.stopped,
    Output: runs.output,
    Overview: upkeep.overview,
    Condition: upkeep.condition,
    Migration: upkeep.migration,
    Copied: upkeep.copied,
    RunnerToken: upkeep.runner_token,
    Commanded: workers.commanded,
    WorkerWaited: workers.waited,
    MergeResult: workers.merge,
    Proof: workers.proof,
    WorktreeView: worktrees.worktree,
    HubAnswer: hub.answer,
}
MANY: dict[Any, tuple[type[Answer], str, Callable[[Any], Answer]]] = {
    list[ProjectView]: (projects.ProjectsAnswer, "projects", projects.project),
    list[HandoffView]: (handoffs.HandoffsAnswer, "handoffs", handoffs.handoff),
    list[Group]: (groups.GroupsAnswer, "groups", groups.group),
    list[HostView]: (hosts.HostsAnswer, "hosts", hosts.host),
    list[Role]: (roles.RolesAnswer, "roles", roles.role),
    Page[Sight]: (runs.AgentsAnswer, "agents", runs.listed_agent),
    list[MergeResult]: (workers.MergesAnswer, "merges", workers.merge),
    list[WorktreeView]: (worktrees.WorktreesAnswer, "worktrees", worktrees.worktree),
    list[Removal]: (worktrees.RemovalsAnswer, "worktrees", worktrees.removal),
    list[Finding]: (upkeep.FindingsAnswer, "checks", upkeep.finding),
    Page[Agent]: (agents.AgentsAnswer, "agents", agents.agent),
    Page[TaskView]: (tasks.TasksAnswer, "tasks", tasks.task),
    Page[Memory]: (memories.MemoriesAnswer, "memories", memories.memory),
    Page[WorkSession]: (sessions.SessionsAnswer, "sessions", sessions.work_session),
    Page[Execution]: (executions.ExecutionsAnswer, "executions", executions.execution),
}


def is_shown(declared: Any) -> bool:
    """Whether answers of this kind have a shape in this dialect."""
    return declared in ONE or declared in MANY or (isinstance(declared, type) and issubclass(declared, Shape))


def present(declared: Any, value: Any) -> Struct:
    """The value of an operation in the shape of this dialect."""
    if isinstance(value, Shape):
        return value
    if declared in ONE:
        return ONE[declared](value)
    shape, key, each = MANY[declared]
    if not isinstance(value, Page):
        return shape(**{key: [each(item) for item in value]})
    page = cast("Page[Any]", value)
    fields: dict[str, Any] = {key: [each(item) for item in page.items]}
    if page.next_cursor:
        fields["next_cursor"] = page.next_cursor
    return shape(**fields)


def answer_type(declared: Any) -> type[Struct]:
    """The shape of the answers of an operation that declares this."""
    if isinstance(declared, type) and issubclass(declared, Shape):
        return declared
    if declared in MANY:
        return MANY[declared][0]
    maker = ONE[declared]
    return getattr(import_module(maker.__module__), maker.__annotations__["return"])
