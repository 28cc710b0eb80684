"""A home with a project on its board, and its doors: commands for stdio, addresses for HTTP."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec

from kumihimo.app import now
from kumihimo.domain.identifiers import Identifiers
from kumihimo.domain.project import Project
from kumihimo.domain.task import Task
from kumihimo.services.agents import KeyedAgent
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.store import open_store

BOUND_SECONDS = 60.0
KUMI = [sys.executable, "-m", "kumihimo"]


class House(msgspec.Struct):
    home: Path
    folder: Path
    board: Board
    project: Project
    url: str = ""
    token: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the user's own settings, and all that a program needs to run."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("KUMI_", "MCP_"))}
        return {**kept, "KUMI_HOME": str(self.home), "KUMI_LANG": "en"}

    def task(self, title: str, *, assignee: str | None = None, started: bool = False) -> Task:
        new = NewTask(title, assignee=assignee, status="in_progress" if started else "todo")
        return self.board.tasks.create(Place(self.project.id), new).task

    def agent(self, name: str) -> KeyedAgent:
        """A new agent that may work in the project."""
        made = self.board.agents.add(name, system_prompt="You write the front end.")
        self.board.projects.assign(self.project.id, made.agent)
        return made

    def stdio(self, toolset: str) -> dict[str, Any]:
        """How a client starts a server of its own."""
        words = [*KUMI[1:], "mcp", "serve", "--toolset", toolset]
        return {"command": KUMI[0], "args": words, "env": self.environment, "cwd": str(self.folder)}

    def http(self, toolset: str, token: str | None = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return {"url": f"{self.url}/mcp/{toolset}?project={self.project.id}", "headers": headers}

    def door(self, transport: str, toolset: str) -> dict[str, Any]:
        return self.stdio(toolset) if transport == "stdio" else self.http(toolset)

    def kumi(self, *words: str) -> str:
        done = subprocess.run(
            [*KUMI, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
            timeout=BOUND_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextlib.contextmanager
def open_house(folder: Path) -> Generator[House, None, None]:
    """A board on SQLite, with `kumi up` beside it on a port of its own."""
    place = folder / "shop"
    place.mkdir()
    home = folder / "home"
    board = Board(open_store(str(home / "kumi.db")), now, Identifiers(os.urandom))
    house = House(home, place, board, board.projects.add("shop", str(place)))
    try:
        house.kumi("up", "--detach", "--port", "0")
        try:
            status = msgspec.json.decode(house.kumi("status", "--json"))
            house.url = status["url"]
            house.token = Path(status["tokenFile"]).read_text("ascii").strip()
            yield house
        finally:
            house.kumi("down")
    finally:
        board.store.close()
