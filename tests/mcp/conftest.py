"""Two projects on a board, two agents with passkeys, and clients of any toolset, on either database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kumihimo.app import now
from kumihimo.domain.identifiers import Identifiers
from kumihimo.domain.project import Project
from kumihimo.services.board import Board
from kumihimo.store.store import open_store
from tests.mcp.http_door import HttpDoor, open_door
from tests.mcp.town import Town


@pytest.fixture
def town(database: str, tmp_path: Path) -> Iterator[Town]:
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
        client.close()
    board.store.close()


@pytest.fixture
def door(town: Town) -> Iterator[HttpDoor]:
    yield from open_door(town)
