"""How long it takes until fifty servers are connected: all at once, one after the other, and the slowest by itself."""

from __future__ import annotations

import asyncio
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop
from samples import stolen
from tables import budget, median, show

from kumihimo import Hub

SERVERS = 50
SLOWEST_SECONDS = 0.5
ROUNDS = 12
QUIETEST = 4
MOST = 1.2
"""`In the time of the slowest`, and what starting fifty processes takes."""
_SCRIPT = Path(__file__).resolve().parent / "greeting_server.sh"


def delays() -> list[float]:
    """Every server is a little slower than the one before: who comes last must not wait for the others."""
    return [SLOWEST_SECONDS * number / SERVERS for number in range(1, SERVERS + 1)]


def seconds_to_connect(folder: Path, delays: list[float], *, at_once: bool) -> float:
    """A hub of its own, from the first wish to the last session."""
    return uvloop.run(_connect(folder, delays, at_once))


async def _connect(folder: Path, delays: list[float], at_once: bool) -> float:
    servers: list[dict[str, Any]] = [
        {"name": f"server-{number}", "command": "sh", "args": [str(_SCRIPT), f"{delay:.3f}"]}
        for number, delay in enumerate(delays)
    ]
    names = [server["name"] for server in servers]
    async with Hub(servers, root=folder) as hub:
        started = time.perf_counter()
        if at_once:
            await asyncio.gather(*(hub.connect(name) for name in names))
        else:
            for name in names:
                await hub.connect(name)
        took = time.perf_counter() - started
        missing = [name for name in names if not hub.is_connected(name)]
        if missing:
            raise RuntimeError(f"not connected: {missing}")
    return took


async def _greet(delays: list[float]) -> float:
    """The least that it takes: the same processes and the same two calls, and nothing kept, checked or guarded."""
    started = time.perf_counter()
    processes = await asyncio.gather(*(_greet_one(delay) for delay in delays))
    took = time.perf_counter() - started
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    await asyncio.gather(*(process.wait() for process in processes))
    return took


async def _greet_one(delay: float) -> Process:
    process = await asyncio.create_subprocess_exec("sh", str(_SCRIPT), f"{delay:.3f}", stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    for number, method in enumerate(("server/discover", "initialize")):
        process.stdin.write(b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":{}}\n' % (number, method.encode()))
        await process.stdout.readline()
    return process


class _Rounds:
    """Milliseconds of each round, and how many ticks of our processors others have had meanwhile."""

    def __init__(self) -> None:
        self.found: list[tuple[int, float]] = []

    def measure(self, connect: Callable[[], float]) -> None:
        before = stolen()
        took = connect() * 1000
        self.found.append((stolen() - before, took))

    @property
    def all(self) -> list[float]:
        return [took for _, took in self.found]

    @property
    def quietest(self) -> list[float]:
        """Those that were disturbed least."""
        return [took for _, took in sorted(self.found)[:QUIETEST]]

    def line(self, what: str) -> list[Any]:
        ticks = sum(taken for taken, _ in self.found)
        return [what, median(self.all), min(self.all), max(self.all), median(self.quietest), ticks]


def run(folder: Path) -> None:
    together, alone, bare, in_turn = _Rounds(), _Rounds(), _Rounds(), _Rounds()
    for _ in range(ROUNDS):
        together.measure(lambda: seconds_to_connect(folder, delays(), at_once=True))
        alone.measure(lambda: seconds_to_connect(folder, delays()[-1:], at_once=True))
        bare.measure(lambda: uvloop.run(_greet(delays())))
    in_turn.measure(lambda: seconds_to_connect(folder, delays(), at_once=False))
    show(
        f"Connecting: {SERVERS} servers that greet after {delays()[0] * 1000:.0f} to {SLOWEST_SECONDS * 1000:.0f} ms "
        f"({ROUNDS} rounds)",
        ["what", "median ms", "least", "most", f"quietest {QUIETEST}", "ticks stolen"],
        [
            alone.line("the slowest alone"),
            together.line(f"all {SERVERS} at once"),
            bare.line(f"all {SERVERS} by a program that does nothing else"),
            in_turn.line("one after the other"),
        ],
    )
    budget(f"{SERVERS} servers, of the slowest's time", median(together.all) / median(alone.all), MOST)
    quiet = median(together.quietest) / median(alone.quietest)
    budget(f"{SERVERS} servers, of the slowest's time, where others disturbed least", quiet, MOST)
    print(f"  of what a program takes that does nothing else: {median(together.all) / median(bare.all):.2f} x")
