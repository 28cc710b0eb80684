"""A board with two projects and two agents, and clients of any toolset."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from kumihimo.domain.project import Project
from kumihimo.domain.task import Task, TaskStatus
from kumihimo.services.agents import KeyedAgent
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from tests.mcp.client import StdioClient


class Town(Struct):
    """A board with projects alpha and beta; dev works in both, rev in alpha."""

    home: Path
    database: str
    board: Board
    alpha: Project
    beta: Project
    dev: KeyedAgent
    rev: KeyedAgent
    clients: list[StdioClient]

    def client(self, toolset: str | None = None, *words: str, project: Project | None = None) -> StdioClient:
        folder = Path((project or self.alpha).working_directory)
        client = StdioClient(self.home, folder, toolset, *words, database=self.database)
        self.clients.append(client)
        return client

    def task(
        self,
        title: str = "work",
        *,
        project: Project | None = None,
        status: TaskStatus = "in_progress",
        assignee: str = "dev",
    ) -> Task:
        place = Place((project or self.alpha).id)
        return self.board.tasks.create(place, NewTask(title, status=status, assignee=assignee)).task

    def login(self, worker: StdioClient, agent: KeyedAgent | None = None, project: Project | None = None) -> str:
        who = agent or self.dev
        answer = worker.call(
            "authenticate", agent_id=who.agent.id, passkey=who.passkey, project_id=(project or self.alpha).id
        )
        assert not answer.is_error, answer.data
        return answer["session_token"]

    def status(self, task: Task) -> str:
        return self.board.tasks.get(Place(), task.id).status
