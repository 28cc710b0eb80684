"""MCP: our doors beside the smallest servers of the official SDKs, in one run. `python bench/doors/run.py`"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import listing
from calls import calls_of_add, calls_of_get_task
from driving.installing import node
from driving.messages import LIST_TOOLS, require_good
from driving.processes import Usage
from driving.stdio_driver import StdioServer
from servers import (
    Board,
    kumi_http,
    kumi_stdio,
    make_board,
    python_http,
    python_stdio,
    typescript_2_http,
    typescript_2_stdio,
    typescript_stdio,
)
from tables import at_least, budget, median, show

START_ROUNDS = 9
CALL_ROUNDS = 5
LIST_ROUNDS = 5
CELL_SECONDS = 1.0
WARM_SECONDS = 1.0
IN_FLIGHT = (1, 32)
LARGEST = ("manager", "runner,worker,manager")

OURS = "kumi mcp serve"
TYPESCRIPT = "TypeScript SDK 1"
TYPESCRIPT_2 = "TypeScript SDK 2"
PYTHON = "Python SDK"
Rate = Callable[[int, float], Usage]


def stdio_commands() -> dict[str, list[str]]:
    """The servers on stdio, ours first."""
    found = {OURS: kumi_stdio("manager")}
    if node() is None:
        print("  no Node here: the TypeScript SDKs are left out")
    else:
        found |= {TYPESCRIPT: typescript_stdio(), TYPESCRIPT_2: typescript_2_stdio()}
    return {**found, PYTHON: python_stdio()}


def start(commands: dict[str, list[str]], board: Board) -> None:
    """From nothing to the answer of `initialize`, the memory that has taken, and what the first list then takes."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    memory: dict[str, list[float]] = {name: [] for name in commands}
    lists: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(START_ROUNDS + 1):
        for name, command in commands.items():
            with StdioServer(command, board.environment, board.folder) as server:
                asked = time.perf_counter()
                require_good(server.ask(LIST_TOOLS))
                if number:  # the first compiles modules, and fills the caches of the machine
                    times[name].append(server.start_milliseconds)
                    memory[name].append(server.megabytes)
                    lists[name].append((time.perf_counter() - asked) * 1000)
    show(
        f"MCP on stdio: from nothing to the answer of `initialize` (median of {START_ROUNDS})",
        ["server", "ms", "least", "most", "MB resident", "first tools/list ms"],
        [
            [name, median(times[name]), min(times[name]), max(times[name]), median(memory[name]), median(lists[name])]
            for name in commands
        ],
    )
    for name in (TYPESCRIPT, TYPESCRIPT_2):
        if name in commands:
            budget(f"cold start, of {name}'s", median(times[OURS]) / median(times[name]), 0.5)
            budget(f"memory, of {name}'s", median(memory[OURS]) / median(memory[name]), 0.5)


def rounds(title: str, rates: dict[str, Rate], in_flight: tuple[int, ...]) -> dict[tuple[str, int], float]:
    """Every server at every depth in turn, several times over; medians of calls in a second."""
    for rate in rates.values():
        rate(in_flight[-1], WARM_SECONDS)
    cells: dict[tuple[str, int], list[Usage]] = {(name, depth): [] for name in rates for depth in in_flight}
    for _ in range(CALL_ROUNDS):
        for depth in in_flight:
            for name, rate in rates.items():
                cells[name, depth].append(rate(depth, CELL_SECONDS))
    speed = {cell: median([use.per_second for use in found]) for cell, found in cells.items()}
    cost = {cell: median([use.processor_microseconds for use in found]) for cell, found in cells.items()}
    columns = [f"{what} @{depth}" for depth in in_flight for what in ("calls/s", "processor us")]
    lines = [[name, *(part[name, depth] for depth in in_flight for part in (speed, cost))] for name in rates]
    show(f"{title} (median of {CALL_ROUNDS})", ["server", *columns], lines)
    return speed


def calls_on_stdio(commands: dict[str, list[str]], board: Board) -> None:
    reads, sums = calls_of_get_task(board.tasks), calls_of_add()
    with contextlib.ExitStack() as stack:
        rates: dict[str, Rate] = {}
        for name, command in commands.items():
            server = stack.enter_context(StdioServer(command, board.environment, board.folder))
            calls = reads if name == OURS else sums
            rates[name] = lambda depth, seconds, server=server, calls=calls: server.rate(calls, depth, seconds)
        speed = rounds("MCP on stdio: `get_task` from the store, beside `add` of the SDKs", rates, IN_FLIGHT)
    for depth in IN_FLIGHT:
        for name in (TYPESCRIPT, TYPESCRIPT_2):
            if name in commands:
                at_least(f"stdio @{depth}, of {name}'s", speed[OURS, depth] / speed[name, depth], 1)
        at_least(f"stdio @{depth}, of Python's", speed[OURS, depth] / speed[PYTHON, depth], 5)


def calls_over_http(board: Board) -> None:
    """Beside the Python SDK twice: as it is installed, and on the event loop and parser that we have; and TypeScript's."""
    reads, sums = calls_of_get_task(board.tasks), calls_of_add()
    with contextlib.ExitStack() as stack:
        targets = {"kumi up": stack.enter_context(kumi_http(board))}
        for loop in ("asyncio", "uvloop"):
            targets[f"{PYTHON}, {loop}"] = stack.enter_context(python_http(loop, board))
        if node() is not None:
            targets[TYPESCRIPT_2] = stack.enter_context(typescript_2_http(board))
        rates: dict[str, Rate] = {}
        for name, target in targets.items():
            target.open_session()
            calls = reads if name == "kumi up" else sums
            rates[name] = lambda depth, seconds, target=target, calls=calls: target.rate(calls, depth, seconds)
        speed = rounds("MCP over HTTP, JSON answers: `get_task` beside `add`", rates, IN_FLIGHT)
    ratios = {name: speed["kumi up", 32] / speed[name, 32] for name in list(targets)[1:]}
    at_least("HTTP @32, of Python's as it is installed", ratios[f"{PYTHON}, asyncio"], 4)
    print(f"  on our event loop and parser instead of its own: {ratios[f'{PYTHON}, uvloop']:.2f}x")
    if TYPESCRIPT_2 in ratios:
        at_least(f"HTTP @32, of {TYPESCRIPT_2}'s", ratios[TYPESCRIPT_2], 1)


def lists(board: Board) -> None:
    lines: list[list[Any]] = []
    for name in LARGEST:
        found = [listing.measure(name, board.environment, board.folder) for _ in range(LIST_ROUNDS)]
        first, later = (median([it[column] for it in found]) for column in (3, 4))
        lines.append([*found[0][:3], first, later])
    show(
        f"`tools/list` inside the server (median of {LIST_ROUNDS} processes)",
        ["toolset", "tools", "kB", "first ms", "later ms"],
        lines,
    )
    for name, *_, first, _ in lines:
        budget(f"first tools/list of {name}", first, 1, " ms")


def run(folder: Path) -> None:
    board = make_board(folder)
    commands = stdio_commands()
    start(commands, board)
    calls_on_stdio(commands, board)
    calls_over_http(board)
    lists(board)


def main() -> None:
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="kumi-bench-") as folder:
        run(Path(folder))


if __name__ == "__main__":
    main()
