"""Four processes that write one SQLite file as fast as they can: how long the unluckiest waits."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recording import open_plain, play, record, spoken
from tables import budget, percentile, show

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.testing.boards import BoardKit

WRITERS, SECONDS = 4, 5.0
# A wait that belongs to the start of a process is none of the handler's.
WARM_UP = 20
Variant = str


def writers(kit: BoardKit, task: int) -> list[Callable[[], object]]:
    """Commands that each change one task, for ever different."""
    here = Place(kit.board.projects.list()[0].id)
    return [lambda n=n: kit.board.tasks.update(here, task, title=f"title {n}") for n in range(2)]


def command(variant: Variant, file: Path, task: int) -> Callable[[], object]:
    """One write of a task: by the service, or its recorded statements by the stdlib's sqlite3."""
    kit = BoardKit(file)
    work = writers(kit, task)
    turn = iter(range(10**9))
    if variant == "service":
        return lambda: work[next(turn) % 2]()
    recorded = record(kit.board.store, work)
    kit.close()
    plain = open_plain(file)
    steps = [[(spoken(sql), values) for sql, values in command] for command in recorded]
    return lambda: play(plain.execute, steps[next(turn) % 2])


def work(variant: Variant, file: str, task: str) -> None:
    """The child: writes from the shot on, and says how long each write took."""
    write = command(variant, Path(file), int(task))
    for _ in range(WARM_UP):
        write()
    print("ready", flush=True)
    sys.stdin.readline()
    waits: list[float] = []
    deadline = time.perf_counter() + SECONDS
    while (started := time.perf_counter()) < deadline:
        write()
        waits.append(time.perf_counter() - started)
    print(json.dumps(waits), flush=True)


def measure(variant: Variant, file: Path) -> list[list[float]]:
    children = [
        subprocess.Popen(
            [sys.executable, __file__, variant, str(file), str(n + 1)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(WRITERS)
    ]
    try:
        for child in children:
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin
            child.stdin.write("go\n")
            child.stdin.flush()
        return [json.loads(child.communicate(timeout=120)[0]) for child in children]
    finally:
        for child in children:
            if child.poll() is None:
                child.kill()
                child.wait()


def run(folder: Path) -> None:
    lines: list[list[Any]] = []
    worst = 0.0
    for variant in ("service", "sqlite3"):
        file = folder / f"{variant}.db"
        kit = BoardKit(file)
        project = kit.board.projects.init("/srv/shop", git=False).project
        for n in range(WRITERS):
            kit.board.tasks.create(Place(project.id), NewTask(f"task {n}"))
        kit.close()
        waits = measure(variant, file)
        every = [wait * 1000 for child in waits for wait in child]
        counts = [len(child) for child in waits]
        if variant == "service":
            worst = max(every)
        lines.append(
            [variant, int(sum(counts) / SECONDS), percentile(every, 0.5), percentile(every, 0.99),
             percentile(every, 0.999), max(every), min(counts) / max(counts)]
        )  # fmt: skip
    show(
        f"{WRITERS} processes that write one file for {SECONDS:.0f} s, ms per command",
        ["writer", "commands/s", "p50", "p99", "p99.9", "worst", "least/most"],
        lines,
    )
    budget("worst wait of four saturating writers", worst, 100, " ms")


if __name__ == "__main__":
    work(*sys.argv[1:])
