"""What a service costs over its own statements: reads and writes against the stdlib's sqlite3, in one process."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
from recording import Step, open_plain, play, record, spoken
from tables import budget, median, show

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.testing.boards import BoardKit

COUNT, ROUNDS, TASKS = 400, 7, 1_000
Command = Callable[[], object]


def commands(kit: BoardKit, name: str) -> list[Command]:
    """The commands of one kind, the same on every copy of the board."""
    project = kit.board.projects.list()[0]
    here = Place(project.id)
    ids = [view.task.id for view in kit.board.tasks.list(here, limit=COUNT).items]
    tasks = kit.board.tasks
    makers: dict[str, Callable[[int], Command]] = {
        "show by number": lambda n: lambda: tasks.show(here, n + 1),
        "show by id": lambda n: lambda: tasks.show(here, ids[n]),
        "update title": lambda n: lambda: tasks.update(here, ids[n], title=f"title {n} of many"),
        "update status": lambda n: lambda: tasks.update(here, ids[n], status="backlog"),
        "create": lambda n: lambda: tasks.create(here, NewTask(f"new {n}", description="some words")),
    }
    return [makers[name](n) for n in range(COUNT)]


def base(folder: Path) -> Path:
    """A board with some tasks, closed, so that its file can be copied."""
    kit = BoardKit(folder / "base.db")
    project = kit.board.projects.init("/srv/shop", git=False).project
    kit.board.store.write(
        lambda _: [kit.board.tasks.create(Place(project.id), NewTask(f"task {n}")) for n in range(TASKS)]
    )
    kit.close()
    return folder / "base.db"


class Contest:
    """One kind of command: by the service, and its recorded statements by the two libraries alone."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.name = name
        kit = self._kit("recorded")
        self._steps: list[list[Step]] = record(kit.board.store, commands(kit, name))
        kit.close()
        self._plain_steps = [[(spoken(sql), values) for sql, values in steps] for steps in self._steps]
        self.times: dict[str, list[float]] = {"service": [], "sqlite3": [], "apsw": []}

    def round(self) -> None:
        kit = self._kit("service")
        work = commands(kit, self.name)
        self.times["service"].append(_timed(lambda: [command() for command in work]))
        kit.close()
        plain = open_plain(self._copy("sqlite3"))
        self.times["sqlite3"].append(_timed(lambda: [play(plain.execute, steps) for steps in self._plain_steps]))
        plain.close()
        self.times["apsw"].append(self._by_apsw())

    def _by_apsw(self) -> float:
        bare: Any = apsw.Connection(str(self._copy("apsw")))
        bare.execute("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON")
        seconds = _timed(lambda: [play(bare.execute, steps) for steps in self._steps])
        bare.close()
        return seconds

    def _kit(self, name: str) -> BoardKit:
        kit = BoardKit(self._copy(name))
        # Behind every id that the board has already.
        kit.board.tasks.identifiers._random_bytes._count = 10**6  # type: ignore[attr-defined]  # noqa: SLF001
        return kit

    def _copy(self, name: str) -> Path:
        target = self._folder / f"{name}.db"
        for beside in self._folder.glob(f"{name}.db*"):
            beside.unlink()
        shutil.copyfile(self._folder / "base.db", target)
        return target


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) / COUNT * 1e6


def run(folder: Path) -> None:
    base(folder)
    names = ["show by number", "show by id", "update title", "update status", "create"]
    contests = [Contest(folder, name) for name in names]
    for _ in range(ROUNDS):
        for contest in contests:
            contest.round()
    lines, ratios = [], {}
    for contest in contests:
        found = {who: median(times) for who, times in contest.times.items()}
        ratios[contest.name] = found["service"] / found["sqlite3"]
        lines.append(
            [contest.name, found["service"], found["sqlite3"], found["apsw"], ratios[contest.name],
             found["service"] / found["apsw"]]
        )  # fmt: skip
    show(
        f"A service against its own statements, microseconds per command (median of {ROUNDS} rounds of {COUNT})",
        ["command", "service", "sqlite3", "apsw", "x sqlite3", "x apsw"],
        lines,
    )
    budget("reads through a service", max(ratios[name] for name in names[:2]), 3)
    budget("writes through a service", max(ratios[name] for name in names[2:]), 3)
