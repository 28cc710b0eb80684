"""A home that is examined: what lies in it, and what the doctor finds there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kumihimo.app import now
from kumihimo.domain.execution import Execution
from kumihimo.domain.finding import Finding
from kumihimo.services.board import Board
from kumihimo.services.diagnosis.diagnosis import diagnose
from kumihimo.services.diagnosis.examination import Examination
from kumihimo.services.wish import Wish
from kumihimo.settings import Flags, Settings, load
from kumihimo.store.store import open_store
from kumihimo.testing.identifiers import counting_identifiers


class Clinic:
    """`home` is the home, `folder` where the commands are typed."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.folder = folder / "shop"
        self.folder.mkdir()
        self._boards: list[Board] = []

    def settings(self, database: str | None = None, language: str = "en") -> Settings:
        return load(Flags(db=database, lang=language), {"KUMI_HOME": str(self.home), "HOME": "/"}, self.folder)

    def examination(self, *, fix: bool = False) -> Examination:
        return Examination(self.settings(), fix=fix)

    def board(self) -> Board:
        self.home.mkdir(mode=0o700, exist_ok=True)
        made = Board(open_store(self.settings().database), now, counting_identifiers())
        self._boards.append(made)
        return made

    def look(self, *, fix: bool = False, database: str | None = None) -> dict[str, Finding]:
        """Everything, by name."""
        found = diagnose(self.settings(database), self.board, fix=fix)
        return {finding.name: finding for finding in found}

    def run(self, board: Board, *, over: bool) -> Execution:
        """A run that is under way, or was."""
        agents = board.projects.init(str(self.folder), git=False).agents
        queued = board.executions.enqueue(Wish(agents[0], "group", "work"))
        assert queued is not None
        claimed = board.executions.claim("host_test")
        assert claimed is not None
        board.executions.start(claimed.id, claimed.fence)
        return board.executions.fail(claimed.id, claimed.fence, "exited") if over else claimed

    def close(self) -> None:
        for board in self._boards:
            board.store.close()


def git(folder: Path, *words: str) -> str:
    """Git with nothing of the user's own."""
    nothing = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(
        ["git", *words], cwd=folder, env={**os.environ, **nothing}, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def program(folder: Path, name: str, text: str) -> Path:
    """A program that is a few lines of shell."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file
