"""Projects."""

from __future__ import annotations

from datetime import datetime

from kumihimo.domain.project import Project
from kumihimo.operations.projects import ProjectView
from kumihimo.services.instances import Staffed
from kumihimo.settings import Language
from kumihimo.toolsets.snake.answer import Answer, Shape


class ProjectShape(Shape, frozen=True):
    project_id: str
    name: str
    working_directory: str
    status: str
    worktrees: bool
    agents: list[str]
    created_at: datetime
    updated_at: datetime


class StaffedShape(Shape, frozen=True):
    project_id: str
    project_name: str
    working_directory: str
    agents: list[str]


class ProjectAnswer(Answer, frozen=True):
    project: ProjectShape


class ProjectsAnswer(Answer, frozen=True):
    projects: list[ProjectShape]


class StaffedAnswer(Answer, frozen=True):
    projects: list[StaffedShape]


def shape(it: Project) -> ProjectShape:
    return ProjectShape(
        project_id=it.id,
        name=it.name,
        working_directory=it.working_directory,
        status=it.status,
        worktrees=it.worktrees,
        agents=list(it.agent_ids),
        created_at=it.created_at,
        updated_at=it.updated_at,
    )


def one(view: ProjectView, _: Language) -> ProjectAnswer:
    return ProjectAnswer(project=shape(view.project))


def many(views: list[ProjectView], _: Language) -> ProjectsAnswer:
    return ProjectsAnswer(projects=[shape(view.project) for view in views])


def staffed(found: list[Staffed], _: Language) -> StaffedAnswer:
    return StaffedAnswer(
        projects=[
            StaffedShape(
                project_id=it.project.id,
                project_name=it.project.name,
                working_directory=it.project.working_directory,
                agents=[agent.id for agent in it.agents],
            )
            for it in found
        ]
    )
