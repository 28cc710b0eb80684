"""The camelCase dialect: what the command line and the `editor` toolset answer.

`id` is what a verb takes (the number of a task or session, the name of an agent, the slug of a memory, else the prefixed
id); `taskId`, `agentId`, `projectId` and `executionId` are always prefixed ids. A list is an object with one list in it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from kumihimo.domain.agent import Agent
from kumihimo.domain.context import ContextEntry
from kumihimo.domain.execution import Execution
from kumihimo.domain.group import Group
from kumihimo.domain.memory import Memory
from kumihimo.domain.session import Session
from kumihimo.operations.projects import ProjectView
from kumihimo.services.agents import KeyedAgent
from kumihimo.services.contexts import TaskContext
from kumihimo.services.handoffs import HandoffView
from kumihimo.services.memories import Preview
from kumihimo.services.projects import Initialised
from kumihimo.services.sessions import Login
from kumihimo.services.tasks import TaskView
from kumihimo.services.upkeep import Condition, Copied, Finding, Migration, Overview
from kumihimo.services.worksessions import WorkSession
from kumihimo.store.paging import Page


class Answer(Struct, frozen=True, rename="camel", kw_only=True):
    """A shape on the wire."""


class ProjectAnswer(Answer, frozen=True):
    id: str
    project_id: str
    name: str
    working_directory: str
    status: str
    worktrees: bool
    agents: list[str]
    created_at: datetime
    updated_at: datetime
    created: bool | UnsetType = UNSET


class AgentAnswer(Answer, frozen=True):
    id: str
    agent_id: str
    name: str
    type: str
    status: str
    client: str
    model: str | None
    role: str
    system_prompt: str
    capabilities: list[str]
    dod: list[str]
    write: list[str]
    exclude: list[str]
    created_at: datetime
    updated_at: datetime
    passkey: str | UnsetType = UNSET


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


class ContextEntryAnswer(Answer, frozen=True):
    id: str
    task_id: str
    type: str
    content: str
    agent_id: str | None
    created_at: datetime


class ContextAnswer(Answer, frozen=True):
    id: int
    task_id: str
    progress: str | None
    findings: str | None
    blockers: str | None
    next_steps: str | None
    notes: list[ContextEntryAnswer]
    history: list[ContextEntryAnswer] | UnsetType = UNSET


class HandoffAnswer(Answer, frozen=True):
    id: str
    handoff_id: str
    task: int
    task_id: str
    project_id: str
    from_agent: str
    from_agent_id: str
    to_agent: str | None
    to_agent_id: str | None
    summary: str
    context: str | None
    recommendations: str | None
    next_steps: list[str]
    warnings: list[str]
    status: str
    created_at: datetime
    accepted_at: datetime | None


class MemoryAnswer(Answer, frozen=True):
    id: str
    project_id: str
    category: str
    title: str
    summary: str
    status: str
    content: str
    created_at: datetime
    updated_at: datetime


class PreviewAnswer(Answer, frozen=True):
    content: str
    memories: list[str]


class SessionAnswer(Answer, frozen=True):
    id: int | None
    execution_id: str
    task: int
    task_id: str
    task_status: str
    project_id: str
    agent: str
    agent_id: str
    status: str
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    signal: str | None
    dod_result: str | None
    artifacts: list[str]
    error: str | None


class LoginAnswer(Answer, frozen=True):
    id: str
    agent_id: str
    project_id: str
    status: str
    expires_at: datetime
    session_token: str | UnsetType = UNSET


class ExecutionAnswer(Answer, frozen=True):
    id: str
    execution_id: str
    session: int | None
    task_id: str | None
    agent_id: str
    project_id: str | None
    group_id: str | None
    client: str
    model: str | None
    status: str
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    signal: str | None
    failure_reason: str | None


class GroupAnswer(Answer, frozen=True):
    id: str
    group_id: str
    description: str
    mode: str
    status: str
    created_at: datetime


class ProjectsAnswer(Answer, frozen=True):
    projects: list[ProjectAnswer]


class AgentsAnswer(Answer, frozen=True):
    agents: list[AgentAnswer]
    next_cursor: str | UnsetType = UNSET


class TasksAnswer(Answer, frozen=True):
    tasks: list[TaskAnswer]
    next_cursor: str | UnsetType = UNSET


class HandoffsAnswer(Answer, frozen=True):
    handoffs: list[HandoffAnswer]


class MemoriesAnswer(Answer, frozen=True):
    memories: list[MemoryAnswer]
    next_cursor: str | UnsetType = UNSET


class SessionsAnswer(Answer, frozen=True):
    sessions: list[SessionAnswer]
    next_cursor: str | UnsetType = UNSET


class ExecutionsAnswer(Answer, frozen=True):
    executions: list[ExecutionAnswer]
    next_cursor: str | UnsetType = UNSET


class GroupsAnswer(Answer, frozen=True):
    groups: list[GroupAnswer]


class FindingAnswer(Answer, frozen=True):
    name: str
    status: str
    detail: str


class FindingsAnswer(Answer, frozen=True):
    checks: list[FindingAnswer]


class MigrationAnswer(Answer, frozen=True):
    database: str
    version: int
    applied: list[int]


class ConditionAnswer(Answer, frozen=True):
    database: str
    ok: bool
    problems: list[str]


class CopiedAnswer(Answer, frozen=True):
    source: str
    target: str
    rows: int


class OverviewAnswer(Answer, frozen=True):
    version: str
    database: str
    projects: int
    agents: int
    tasks: dict[str, int]
    live_sessions: int
    live_runs: int
    pid: int | None
    url: str | None
    token_file: str


def project(view: ProjectView) -> ProjectAnswer:
    it = view.project
    return ProjectAnswer(
        id=it.id,
        project_id=it.id,
        name=it.name,
        working_directory=it.working_directory,
        status=it.status,
        worktrees=it.worktrees,
        agents=[agent.name for agent in view.agents],
        created_at=it.created_at,
        updated_at=it.updated_at,
    )


def initialised(made: Initialised) -> ProjectAnswer:
    from msgspec.structs import replace

    return replace(project(ProjectView(made.project, made.agents)), created=made.created)


def agent(it: Agent) -> AgentAnswer:
    return AgentAnswer(
        id=it.name,
        agent_id=it.id,
        name=it.name,
        type=it.type,
        status=it.status,
        client=it.client,
        model=it.model,
        role=it.role,
        system_prompt=it.system_prompt,
        capabilities=list(it.capabilities),
        dod=list(it.dod),
        write=list(it.scope.write),
        exclude=list(it.scope.exclude),
        created_at=it.created_at,
        updated_at=it.updated_at,
    )


def keyed_agent(keyed: KeyedAgent) -> AgentAnswer:
    from msgspec.structs import replace

    return replace(agent(keyed.agent), passkey=keyed.passkey)


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
    )


def context_entry(it: ContextEntry) -> ContextEntryAnswer:
    return ContextEntryAnswer(
        id=it.id, task_id=it.task_id, type=it.kind, content=it.content, agent_id=it.agent_id, created_at=it.created_at
    )


def context(it: TaskContext) -> ContextAnswer:
    return ContextAnswer(
        id=it.task.number,
        task_id=it.task.id,
        progress=it.progress,
        findings=it.findings,
        blockers=it.blockers,
        next_steps=it.next_steps,
        notes=[context_entry(entry) for entry in it.notes],
        history=UNSET if it.history is None else [context_entry(entry) for entry in it.history],
    )


def handoff(view: HandoffView) -> HandoffAnswer:
    it = view.handoff
    return HandoffAnswer(
        id=it.id,
        handoff_id=it.id,
        task=view.task.number,
        task_id=it.task_id,
        project_id=it.project_id,
        from_agent=view.from_agent.name,
        from_agent_id=it.from_agent_id,
        to_agent=view.to_agent.name if view.to_agent else None,
        to_agent_id=it.to_agent_id,
        summary=it.summary,
        context=it.context,
        recommendations=it.recommendations,
        next_steps=list(it.next_steps),
        warnings=list(it.warnings),
        status=it.status,
        created_at=it.created_at,
        accepted_at=it.accepted_at,
    )


def memory(it: Memory) -> MemoryAnswer:
    return MemoryAnswer(
        id=it.slug,
        project_id=it.project_id,
        category=it.category,
        title=it.title,
        summary=it.summary,
        status=it.status,
        content=it.content,
        created_at=it.created_at,
        updated_at=it.updated_at,
    )


def preview(it: Preview) -> PreviewAnswer:
    return PreviewAnswer(content=it.content, memories=[memory.slug for memory in it.memories])


def status_word(it: Execution) -> str:
    """The status of a run as the wire has it: starting is running, and no underscore."""
    return {"starting": "running", "timed_out": "timedOut"}.get(it.status, it.status)


def work_session(it: WorkSession) -> SessionAnswer:
    run = it.execution
    return SessionAnswer(
        id=run.number,
        execution_id=run.id,
        task=it.task.number,
        task_id=it.task.id,
        task_status=it.task.status,
        project_id=it.task.project_id,
        agent=it.agent.name,
        agent_id=run.agent_id,
        status=status_word(run),
        started_at=run.started_at,
        ended_at=run.ended_at,
        exit_code=run.exit_code,
        signal=run.signal,
        dod_result=run.dod_result,
        artifacts=list(run.artifacts),
        error=run.error,
    )


def login(it: Login) -> LoginAnswer:
    from msgspec.structs import replace

    return replace(session(it.session), session_token=it.token)


def session(it: Session) -> LoginAnswer:
    return LoginAnswer(
        id=it.id, agent_id=it.agent_id, project_id=it.project_id, status=it.status, expires_at=it.expires_at
    )


def execution(it: Execution) -> ExecutionAnswer:
    return ExecutionAnswer(
        id=it.id,
        execution_id=it.id,
        session=it.number,
        task_id=it.task_id,
        agent_id=it.agent_id,
        project_id=it.project_id,
        group_id=it.group_id,
        client=it.client,
        model=it.model,
        status=status_word(it),
        queued_at=it.queued_at,
        started_at=it.started_at,
        ended_at=it.ended_at,
        exit_code=it.exit_code,
        signal=it.signal,
        failure_reason=it.failure_reason,
    )


def group(it: Group) -> GroupAnswer:
    return GroupAnswer(
        id=it.id, group_id=it.id, description=it.description, mode=it.mode, status=it.status, created_at=it.created_at
    )


def overview(it: Overview) -> OverviewAnswer:
    return OverviewAnswer(
        version=it.version,
        database=it.database,
        projects=it.projects,
        agents=it.agents,
        tasks=it.tasks,
        live_sessions=it.live_sessions,
        live_runs=it.live_runs,
        pid=it.pid,
        url=it.url,
        token_file=it.token_file,
    )


def condition(it: Condition) -> ConditionAnswer:
    return ConditionAnswer(database=it.database, ok=not it.problems, problems=it.problems)


def migration(it: Migration) -> MigrationAnswer:
    return MigrationAnswer(database=it.database, version=it.version, applied=it.applied)


def copied(it: Copied) -> CopiedAnswer:
    return CopiedAnswer(source=it.source, target=it.target, rows=it.rows)


def finding(it: Finding) -> FindingAnswer:
    return FindingAnswer(name=it.name, status=it.verdict, detail=it.detail)


# The shape of each answer, by the type that an operation declares. A test holds this against the catalogue.
ONE: dict[Any, Callable[[Any], Answer]] = {
    ProjectView: project,
    Initialised: initialised,
    Agent: agent,
    KeyedAgent: keyed_agent,
    TaskView: task,
    ContextEntry: context_entry,
    TaskContext: context,
    HandoffView: handoff,
    Memory: memory,
    Preview: preview,
    WorkSession: work_session,
    Login: login,
    Session: session,
    Execution: execution,
    Group: group,
    Overview: overview,
    Condition: condition,
    Migration: migration,
    Copied: copied,
}
MANY: dict[Any, tuple[type[Answer], str, Callable[[Any], Answer]]] = {
    list[ProjectView]: (ProjectsAnswer, "projects", project),
    list[HandoffView]: (HandoffsAnswer, "handoffs", handoff),
    list[Group]: (GroupsAnswer, "groups", group),
    list[Finding]: (FindingsAnswer, "checks", finding),
    Page[Agent]: (AgentsAnswer, "agents", agent),
    Page[TaskView]: (TasksAnswer, "tasks", task),
    Page[Memory]: (MemoriesAnswer, "memories", memory),
    Page[WorkSession]: (SessionsAnswer, "sessions", work_session),
    Page[Execution]: (ExecutionsAnswer, "executions", execution),
}


def present(declared: Any, value: Any) -> Answer:
    """The value of an operation in the shape of this dialect."""
    if declared in ONE:
        return ONE[declared](value)
    shape, key, each = MANY[declared]
    if isinstance(value, Page):
        page: Page[Any] = value
        fields: dict[str, Any] = {key: [each(item) for item in page.items]}
        return shape(**fields, next_cursor=page.next_cursor) if page.next_cursor else shape(**fields)
    return shape(**{key: [each(item) for item in value]})
