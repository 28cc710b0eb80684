"""The servers that are measured: ours on a board with a hundred tasks, and the smallest ones of the official SDKs."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

from driving.http_driver import HttpTarget
from driving.installing import from_npm, node
from driving.messages import call
from driving.serving import KUMI, clean_environment, free_port, kumi, running
from driving.stdio_driver import StdioServer

HERE = Path(__file__).resolve().parent
TYPESCRIPT_SDK = "@modelcontextprotocol/sdk@1.32.2"
TYPESCRIPT_SDK_2 = ("@modelcontextprotocol/server@2.4.0", "@modelcontextprotocol/node@2.1.2")
TASKS = 100


class Board(NamedTuple):
    """A project with tasks, in a home of its own."""

    folder: Path
    environment: dict[str, str]
    tasks: list[str]


def make_board(folder: Path) -> Board:
    """A real database, filled through the door that people use."""
    environment = clean_environment(folder / "home")
    project = folder / "shop"
    project.mkdir()
    kumi(["init", str(project)], environment, project)
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


def typescript_stdio() -> list[str]:
    return _typescript("sdk-1", "add_server.mjs", TYPESCRIPT_SDK)


def typescript_2_stdio() -> list[str]:
    """Of the line that is recommended today."""
    return _typescript("sdk-2.4.0", "add_server_2.mjs", *TYPESCRIPT_SDK_2)


def _typescript(name: str, program: str, *packages: str) -> list[str]:
    found = node()
    assert found is not None, "asked before"
    home = from_npm(name, *packages)
    shutil.copy(HERE / program, home / program)
    return [found, str(home / program)]


@contextlib.contextmanager
def kumi_http(board: Board) -> Generator[HttpTarget, None, None]:
    port = free_port()
    command = [KUMI, "up", "--port", str(port)]
    with running(command, port, board.environment, board.folder) as pid:
        status = json.loads(kumi(["status", "--json"], board.environment, board.folder))
        yield HttpTarget(port, "/mcp/manager", pid, Path(status["tokenFile"]).read_text("ascii").strip())


@contextlib.contextmanager
def python_http(loop: str, board: Board) -> Generator[HttpTarget, None, None]:
    port = free_port()
    with running([*python_stdio(), str(port), loop], port, board.environment, board.folder) as pid:
        yield HttpTarget(port, "/mcp", pid)


@contextlib.contextmanager
def typescript_2_http(board: Board) -> Generator[HttpTarget, None, None]:
    port = free_port()
    with running([*typescript_2_stdio(), str(port)], port, board.environment, board.folder) as pid:
        yield HttpTarget(port, "/mcp", pid)
