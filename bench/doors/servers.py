"""The servers that are measured: ours on a board with a hundred tasks, and the smallest ones of the official SDKs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

from http_driver import HttpTarget
from messages import call
from stdio_driver import StdioServer

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent.parent / ".bench" / "npm"
KUMI = str(Path(sys.executable).with_name("kumi"))
TYPESCRIPT_SDK = "@modelcontextprotocol/sdk@1.32.2"
TASKS = 100
_PATIENCE_SECONDS = 30.0


class Board(NamedTuple):
    """A project with tasks, in a home of its own."""

    folder: Path
    environment: dict[str, str]
    tasks: list[str]


def clean_environment(home: Path) -> dict[str, str]:
    """As a user has it: modules are compiled once, and nothing of this shell is known to the servers."""
    dropped = ("KUMI_", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "NODE_OPTIONS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "KUMI_HOME": str(home), "KUMI_LANG": "en"}


def make_board(folder: Path) -> Board:
    """A real database, filled through the door that people use."""
    environment = clean_environment(folder / "home")
    project = folder / "shop"
    project.mkdir()
    _kumi(["init", str(project)], environment, project)
    description = "What is to be done, in a sentence or two. " * 3
    with StdioServer(kumi_stdio("editor"), environment, project) as editor:
        made = [
            editor.ask(call(number, "task_create", {"title": f"Task {number}", "description": description}))
            for number in range(1, TASKS + 1)
        ]
    tasks = [json.loads(answer)["result"]["structuredContent"]["taskId"] for answer in made]
    return Board(project, environment, tasks)


def kumi_stdio(toolset: str) -> list[str]:
    return [KUMI, "mcp", "serve", "--toolset", toolset]


def python_stdio() -> list[str]:
    return [sys.executable, str(HERE / "add_server.py")]


def typescript_stdio() -> list[str] | None:
    """None, and a word about it, where there is no Node."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        print("  no Node here: the TypeScript SDK is left out")
        return None
    home = CACHE / "sdk-1"
    home.mkdir(parents=True, exist_ok=True)
    with (CACHE / "sdk-1.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / ".installed").exists():
            (home / "package.json").write_text('{"private": true}\n')
            subprocess.run(
                [npm, "install", "--silent", "--no-audit", "--no-fund", TYPESCRIPT_SDK], cwd=home, check=True
            )
            (home / ".installed").touch()
        shutil.copy(HERE / "add_server.mjs", home / "add_server.mjs")
    return [node, str(home / "add_server.mjs")]


@contextlib.contextmanager
def kumi_http(board: Board) -> Generator[HttpTarget, None, None]:
    port = _free_port()
    command = [KUMI, "up", "--port", str(port)]
    with _running(command, port, board.environment, board.folder) as pid:
        status = json.loads(_kumi(["status", "--json"], board.environment, board.folder))
        yield HttpTarget(port, "/mcp/manager", pid, Path(status["tokenFile"]).read_text("ascii").strip())


@contextlib.contextmanager
def python_http(loop: str, board: Board) -> Generator[HttpTarget, None, None]:
    port = _free_port()
    with _running([*python_stdio(), str(port), loop], port, board.environment, board.folder) as pid:
        yield HttpTarget(port, "/mcp", pid)


@contextlib.contextmanager
def _running(command: list[str], port: int, environment: dict[str, str], folder: Path) -> Generator[int, None, None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder, env=environment)
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"did not start: {' '.join(command)}")
            time.sleep(0.02)
        yield process.pid
    finally:
        process.terminate()
        process.wait(20)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def _kumi(words: list[str], environment: dict[str, str], folder: Path) -> str:
    return subprocess.run(
        [KUMI, *words], env=environment, cwd=folder, check=True, capture_output=True, text=True
    ).stdout
