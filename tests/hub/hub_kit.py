"""Hubs for tests: with scripted servers, a time that need not be waited for, and a look at who is left."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from kumihimo.hub.timing import Timing
from tests.loops import run_within

BOUND = 60.0
SERVER = Path(__file__).parent / "scripted_server.py"
READ = {"annotations": {"readOnlyHint": True}}
IDEMPOTENT = {"annotations": {"idempotentHint": True}}
NONE = {"maxRetries": 0}


class StillTiming(Timing):
    """Sleeping moves the time on and takes none."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
        await asyncio.sleep(0)


class Scripted:
    """A server on stdio with these tools: `config` is for the hub, `calls` is what has arrived."""

    def __init__(
        self, folder: Path, name: str, *tools: dict[str, Any], config: dict[str, Any] | None = None, **script: Any
    ):
        self.name = name
        self.log = folder / f"{name}.log"
        file = folder / f"{name}.json"
        file.write_text(json.dumps({"tools": tools, "log": str(self.log), **script}))
        argv = ["-I", "-S", str(SERVER), str(file)]
        self.config = {"name": name, "command": sys.executable, "args": argv, "timeout": 30000, **(config or {})}

    def lines(self, line: str) -> int:
        return self.log.read_text().splitlines().count(line) if self.log.exists() else 0

    def calls(self, tool: str) -> int:
        return self.lines(f"call {tool}")

    @property
    def pids(self) -> list[int]:
        if not self.log.exists():
            return []
        return [int(line.split()[1]) for line in self.log.read_text().splitlines() if line.startswith("start ")]


def run(test: Coroutine[Any, Any, None], seconds: float = BOUND) -> None:
    run_within(seconds, test)


async def until(look: Callable[[], object]) -> None:
    async with asyncio.timeout(BOUND):
        while not look():  # noqa: ASYNC110 - what is looked at is in another process
            await asyncio.sleep(0.005)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        # It may end in between, and even while this is read.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
