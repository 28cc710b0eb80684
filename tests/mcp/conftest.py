"""Two projects on a board, two agents with passkeys, and clients of any toolset, on either database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from kumihimo.app import now
from kumihimo.domain.identifiers import Identifiers
from kumihimo.domain.project import Project
from kumihimo.domain.task import Task, TaskStatus
from kumihimo.services.agents import KeyedAgent
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.store import open_store
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


@pytest.fixture
def town(database: str, tmp_path: Path) -> Iterator[Town]:
    import os

    board = Board(open_store(database), now, Identifiers(os.urandom))
    projects: list[Project] = []
    for name in ("alpha", "beta"):
        (tmp_path / name).mkdir()
        projects.append(board.projects.add(name, str(tmp_path / name)))
    dev = board.agents.add("dev", role="frontend", system_prompt="You write the front end. 日本語も。")
    rev = board.agents.add("rev", role="review")
    for project in projects:
        board.projects.assign(project.id, dev.agent)
    board.projects.assign("alpha", rev.agent)
    made = Town(tmp_path / "home", database, board, projects[0], projects[1], dev, rev, [])
    yield made
    for client in made.clients:
        if client.process.poll() is None:
            client.close()
    board.store.close()
