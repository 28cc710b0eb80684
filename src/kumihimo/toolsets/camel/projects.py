"""Projects."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from kumihimo.operations.projects import ProjectView
from kumihimo.services.projects import Initialised
from kumihimo.toolsets.camel.answer import Answer


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


class ProjectsAnswer(Answer, frozen=True):
    projects: list[ProjectAnswer]


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
    return replace(project(ProjectView(made.project, made.agents)), created=made.created)
