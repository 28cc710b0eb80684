"""A small project with two agents, on either database."""

from __future__ import annotations

import pytest
from msgspec import Struct

from kumihimo.domain.agent import Agent
from kumihimo.domain.project import Project
from kumihimo.domain.task import Task, TaskStatus
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.testing.boards import BoardKit


class Shop(Struct):
    """A project called shop with its agents, and short ways to make tasks in it."""

    kit: BoardKit
    project: Project
    coder: Agent
    reviewer: Agent

    @property
    def here(self) -> Place:
        return Place(self.project.id)

    def task(
        self, title: str = "work", *, status: TaskStatus = "todo", assignee: str | None = "coder", **more: object
    ) -> Task:
        new = NewTask(title, status=status, assignee=assignee, **more)  # type: ignore[arg-type]
        return self.kit.board.tasks.create(self.here, new).task

    def walk(self, task: Task, *statuses: TaskStatus) -> Task:
        for status in statuses:
            task = self.kit.board.tasks.update(self.here, task.id, status=status).task
        return task

    def events(self) -> int:
        return len(self.kit.board.store.events_after(None, 100_000))


@pytest.fixture
def shop(kit: BoardKit) -> Shop:
    made = kit.board.projects.init("/srv/shop", git=True)
    agents = {agent.name: agent for agent in made.agents}
    return Shop(kit, made.project, agents["coder"], agents["reviewer"])
