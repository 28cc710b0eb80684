"""A shop whose folder is a git repository, with a host process of its own, workers played by scripts, and their tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from kumihimo.domain.execution import Execution
from kumihimo.domain.proof import Proof
from kumihimo.domain.task import Task
from kumihimo.engine.worktrees.worktrees import Worktrees
from kumihimo.operations.catalogue import named
from kumihimo.operations.operation import Call, Caller
from kumihimo.services.merge_result import MergeResult
from kumihimo.services.merging import Merger
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.workplaces import open_worktrees
from kumihimo.settings import Flags, Settings, load
from kumihimo.testing.scripts import Script
from tests.lead.shop import BOUND_SECONDS, Shop, until
from tests.mcp.client import StdioClient

# Nothing of the user's own: neither settings of git nor where one stands.
GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CEILING_DIRECTORIES": "/tmp",
}


class Workshop(Shop):
    """`up=False`: without a host process, for tests in which nothing is run by it."""

    def __init__(self, folder: Path, database: str | None = None, *, up: bool = True, **settings: Any) -> None:
        super().__init__(folder, database, **settings)
        self.place = Place(self.project.id)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.git("init", "-q", "-b", "main")
        # In the repository itself: who works in it has no settings of their own.
        self.git("config", "user.name", "Tester")
        self.git("config", "user.email", "tester@example.com")
        self.commit("README.md", "a shop\n")
        if up:
            self.up()

    # Git.

    def git(self, *words: str, folder: Path | None = None, fine: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            ["git", *words], cwd=folder or self.folder, capture_output=True, text=True, check=False,
            timeout=BOUND_SECONDS, env={**self.environment, **GIT},
        )  # fmt: skip
        assert done.returncode in fine, done.stderr
        return done.stdout.strip()

    def commit(self, path: str, text: str, *, folder: Path | None = None) -> str:
        """A file as somebody commits it by hand; the new commit."""
        file = (folder or self.folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.git("add", "--", path, folder=folder)
        self.git("commit", "-q", "-m", f"write {path}", folder=folder)
        return self.head(folder=folder)

    def head(self, what: str = "HEAD", *, folder: Path | None = None) -> str:
        return self.git("rev-parse", what, folder=folder)

    def on_main(self, path: str) -> str:
        return self.git("show", f"main:{path}")

    def branches(self) -> list[str]:
        return self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()

    @property
    def worktrees(self) -> Worktrees:
        return open_worktrees(self.project)

    def worktree_names(self) -> list[str]:
        return sorted(found.name for found in self.worktrees.all())

    # Processes.

    def spawn(self, *words: str, **how: Any) -> subprocess.Popen[bytes]:
        """`kumi` with these words; ended with the shop."""
        with (self.home / "said").open("ab") as said:
            how = {"cwd": self.folder, "stdin": subprocess.DEVNULL, "stdout": said, "stderr": said, **how}
            how = {"env": self.environment, **how}
            started = subprocess.Popen([sys.executable, "-m", "kumihimo", *words], **how)
        self.processes.append(started)
        return started

    def up(self) -> None:
        """`kumi up`, once it can be reached."""
        started = self.spawn("up", "--port", "0")
        until(lambda: (found := self.host) and found.process.pid == started.pid)

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
        super().close()

    @property
    def settings(self) -> Settings:
        return load(Flags(db=self.database), {"KUMI_HOME": str(self.home)}, self.folder)

    def editor(self) -> StdioClient:
        client = StdioClient(self.home, self.folder, "editor", database=self.database)
        self._clients.append(client)
        return client

    def door(self, toolset: str) -> StdioClient:
        client = StdioClient(self.home, self.folder, toolset, database=self.database)
        self._clients.append(client)
        return client

    # Tasks and workers.

    def do(self, name: str, **arguments: Any) -> Any:
        """An operation in this process."""
        operation = named(name)
        call = Call(self.settings, Caller("owner", self.place), None, self.board)
        return operation(call, operation.read(arguments))

    def task(self, script: Script | str = "", *, title: str = "work", assignee: str = "coder", **more: Any) -> int:
        """The number of a new task whose description is the script of whoever works on it."""
        text = script.prompt() if isinstance(script, Script) else script
        new = NewTask(title, description=text, assignee=assignee, **more)
        return self.board.tasks.create(self.place, new).task.number

    def see(self, number: int) -> Task:
        return self.board.tasks.get(self.place, number)

    def worker(self, number: int, **arguments: Any) -> Execution:
        """A worker that works by itself."""
        return self.do("worker.run", task=number, **arguments).execution

    def session(self, number: int, **arguments: Any) -> tuple[str, Execution]:
        """A session for somebody else, and its command."""
        commanded = self.do("worker.command", task=number, **arguments)
        return commanded.command, commanded.worker.execution

    def show(self, run: Execution | str) -> Execution:
        return self.board.executions.show(run if isinstance(run, str) else run.id)

    def over(self, run: Execution) -> Execution:
        """The run, once it has ended and was looked at."""
        until(lambda: not (now := self.show(run)).live and not now.unverified)
        return self.show(run)

    def work(self, number: int, **arguments: Any) -> Execution:
        """A worker, from its start to the end of its verification."""
        return self.over(self.worker(number, **arguments))

    def merge(self, *work: int | str, **how: Any) -> list[MergeResult]:
        return Merger(self.board, self.settings).merge_all(self.place, work, **how)

    def proof(self, run: Execution) -> Proof:
        return msgspec.json.decode((self.home / "runs" / run.id / "proof.json").read_bytes(), type=Proof)

    def folder_of(self, run: Execution) -> Path:
        return Path(self.show(run).worktree or "")

    def writes(self, path: str, text: str = "text\n", name: str | None = None) -> Script:
        """The script of somebody who commits one file."""
        return committing(self.script(name).write(path, text))

    # Sessions in a shell.

    def paste(self, command: str, *, folder: Path = Path("/"), **how: Any) -> subprocess.Popen[bytes]:
        """In a plain shell, somewhere else, with nothing in its environment."""
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **how}
        started = subprocess.Popen(["env", "-i", "/bin/sh", "-c", command], cwd=folder, **how)
        self.processes.append(started)
        return started

    def pasted(self, command: str, **how: Any) -> int:
        """Its exit code. What it says is kept for who reads a failure."""
        done = self.paste(command, **how)
        said, _ = done.communicate(timeout=BOUND_SECONDS)
        print(said.decode("utf-8", "replace"))
        return done.returncode


def committing(script: Script, message: str = "work") -> Script:
    return script.shell(f"git add -A && git commit -q -m {message}")


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
