"""How long `tools/list` takes inside the server: from the bytes of the request to the bytes of the answer.

In a process of its own for each toolset: the first list is the one that a client waits for, and nothing may be known yet.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

from driving.messages import INITIALIZE, LIST_TOOLS
from tables import median

from kumihimo.settings import Flags, load
from kumihimo.surfaces.mcp.catalogs import Bench
from kumihimo.surfaces.mcp.door import Door
from kumihimo.toolsets.registry import together
from kumihimo.wire.conversation import Conversation
from kumihimo.wire.framing import Frame
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.server import Server

_ROUNDS = 200


class Listing(NamedTuple):
    toolset: str
    tools: int
    kilobytes: float
    first_milliseconds: float
    """The first of a process; what it took is kept."""
    later_milliseconds: float


def measure(toolset: str, environment: dict[str, str], folder: Path) -> Listing:
    command = [sys.executable, __file__, toolset]
    done = subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True)
    return Listing(*json.loads(done.stdout))


def measure_here(toolset: str) -> Listing:
    door = Door(load(Flags(), dict(os.environ), Path.cwd()))
    owner = door.owner()
    catalog = Bench(door, together(toolset.split(",")), lambda _, __: owner).catalog()
    conversation = Conversation(Server(Implementation("bench", "1"), catalog), None)
    answers: list[bytes] = []
    conversation.attach(answers.append, lambda _, __, ___: None)
    conversation.receive(Frame(INITIALIZE, framed=False))
    times: list[float] = []
    for _ in range(_ROUNDS):
        answers.clear()
        started = time.perf_counter()
        conversation.receive(Frame(LIST_TOOLS, framed=False))
        times.append((time.perf_counter() - started) * 1000)
    door.close()
    [answer] = answers
    return Listing(toolset, answer.count(b'"inputSchema"'), len(answer) / 1024, times[0], median(times[1:]))


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1])))
