"""Whether a large board is as quick as a small one: 100 and 100,000 tasks, a thousand and a million events."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tables import budget, median, show

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish
from kumihimo.testing.boards import BoardKit

KUMI = str(Path(sys.executable).with_name("kumi"))
SMALL, LARGE, EVENTS = 100, 100_000, 1_000_000
PROCESS_ROUNDS, CALL_ROUNDS = 9, 60

# Rows like the first one, numbered on: what a service writes, without a service's time for each.
_MORE = "WITH RECURSIVE count (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM count WHERE n < ?) INSERT INTO "


def fill(file: Path, tasks: int, events: int) -> BoardKit:
    """A board of that size, in a few large transactions."""
    kit = BoardKit(file)
    connection = kit.board.store.connection
    project = kit.board.projects.init("/srv/shop", git=False).project
    first = kit.board.tasks.create(Place(project.id), NewTask("task", assignee="coder", description="words " * 20))
    run = kit.board.executions.enqueue(Wish(kit.board.agents.show("coder"), "group", project_id=project.id))
    assert run is not None
    connection.begin_write()
    _multiply(kit, "tasks", tasks, first.task.id, {"id": "'tsk_' || 'x' || printf('%011d', n)", "number": "n"})
    statuses = "CASE number % 4 WHEN 0 THEN 'todo' WHEN 1 THEN 'done' WHEN 2 THEN 'backlog' ELSE 'cancelled' END"
    connection.execute(f"UPDATE tasks SET status = {statuses}")
    connection.execute("UPDATE projects SET next_task_number = ?", (tasks + 1,))
    same = {"id": "'exec_' || 'x' || printf('%011d', n)", "queued_at": "queued_at + n", "status": "'completed'"}
    _multiply(kit, "executions", tasks, run.id, same)
    connection.commit()
    connection.begin_write()
    newest = int(kit.board.store.newest_cursor())
    # The first third are things that changed once and stay; then three events for each, of which two can go.
    subject = (
        f"CASE WHEN n < {events} / 3 THEN 'tsk_z' || printf('%011d', n) ELSE 'tsk_y' || printf('%011d', n / 3) END"
    )
    _multiply(kit, "events", events, newest, {"seq": f"{newest} + n", "subject": subject})
    connection.commit()
    return kit


def _multiply(kit: BoardKit, table: str, count: int, source: str | int, changed: dict[str, str]) -> None:
    connection = kit.board.store.connection
    columns = connection.columns(table)
    key = "seq" if table == "events" else "id"
    chosen = ", ".join(changed.get(column, f"one.{column}") for column in columns)
    connection.execute(
        f"{_MORE}{table} ({', '.join(columns)}) SELECT {chosen} FROM count, {table} AS one WHERE one.{key} = ?",
        (count, source),
    )


def by_process(files: dict[str, Path], folder: Path) -> dict[str, float]:
    """The command itself, from nothing, taken in turns."""
    environment = {**os.environ, "KUMI_HOME": str(folder / "home")}
    times: dict[str, list[float]] = {name: [] for name in files}
    for _ in range(PROCESS_ROUNDS):
        for name, file in files.items():
            command = [KUMI, "--db", str(file), "--project", "shop", "task", "ls", "--json"]
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            times[name].append((time.perf_counter() - started) * 1000)
    return {name: median(found) for name, found in times.items()}


def questions(kit: BoardKit) -> dict[str, Callable[[], object]]:
    here = Place(kit.board.projects.list()[0].id)
    board = kit.board
    end = str(int(board.store.newest_cursor()) - 20)
    middle = str(int(board.store.newest_cursor()) // 2)
    return {
        "tasks, newest 20": lambda: board.tasks.list(here),
        "tasks of one status": lambda: board.tasks.list(here, statuses=["todo"]),
        "tasks of two statuses": lambda: board.tasks.list(here, statuses=["todo", "backlog"]),
        "tasks of an agent": lambda: board.tasks.list(here, assignee="coder"),
        "tasks of a rare status": lambda: board.tasks.list(here, statuses=["in_progress"]),
        "tasks of two rare statuses": lambda: board.tasks.list(here, statuses=["in_progress", "blocked"]),
        "tasks of an agent without any": lambda: board.tasks.list(here, assignee="reviewer"),
        "one task by number": lambda: board.tasks.show(here, 50),
        "runs, newest 20": lambda: board.executions.list(),
        "running runs": lambda: board.executions.list(statuses=["running"]),
        "number of live runs": lambda: board.executions.count_live(),
        "a claim from an empty queue": lambda: board.executions.claim("host"),
        "last 20 events": lambda: board.store.events_after(end),
        "20 events of the middle": lambda: board.store.events_after(middle, 20),
        "the newest cursor": lambda: board.store.newest_cursor(),
    }


def by_call(small: BoardKit, large: BoardKit) -> list[list[object]]:
    lines: list[list[object]] = []
    for kit in (small, large):
        # The one run that waits is taken, so that both queues are empty.
        kit.board.executions.claim("host")
    few, many = questions(small), questions(large)
    for name in few:
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(CALL_ROUNDS):
            for found, ask in zip(times, (few[name], many[name]), strict=True):
                started = time.perf_counter()
                ask()
                found.append((time.perf_counter() - started) * 1e6)
        one, other = median(times[0]), median(times[1])
        lines.append([name, one, other, other / one])
    return lines


def run(folder: Path) -> None:
    small = fill(folder / "small.db", SMALL, 1_000)
    started = time.monotonic()
    large = fill(folder / "large.db", LARGE, EVENTS)
    print(f"\n  filled {LARGE:,} tasks, {LARGE:,} runs and {EVENTS:,} events in {time.monotonic() - started:.1f} s")
    files = {"small": folder / "small.db", "large": folder / "large.db"}
    found = by_process(files, folder)
    ratio = found["large"] / found["small"]
    show(
        f"kumi task ls --json, a process each time, ms (median of {PROCESS_ROUNDS}, in turns)",
        ["command", f"{SMALL} tasks", f"{LARGE:,} tasks, {EVENTS:,} events", "ratio"],
        [["kumi task ls --json", found["small"], found["large"], ratio]],
    )
    budget("task ls on the large board", ratio, 2)
    lines = by_call(small, large)
    show(f"Questions, microseconds (median of {CALL_ROUNDS})", ["question", "small", "large", "ratio"], lines)
    budget("slowest question on the large board", max(float(str(line[3])) for line in lines), 2)
    fold(large)
    small.close()
    large.close()


def fold(kit: BoardKit) -> None:
    """How long the write lock is held while old events go; everybody else waits that long."""
    held: list[float] = []
    position: int | None = 0
    for _ in range(20):
        started = time.perf_counter()
        start = position or 0
        _, position = kit.board.store.write(lambda transaction, start=start: transaction.events.fold(2**62, start))
        held.append((time.perf_counter() - started) * 1000)
    show(
        f"Folding {EVENTS:,} events, a third of which stay: ms that a window holds the write lock",
        ["batch", "ms"],
        [["median of 20", median(held)], ["worst", max(held)]],
    )
    budget("one batch of folding", max(held), 100, " ms")
