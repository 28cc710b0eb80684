"""A Runner in the process of the test: its clock can be moved, and its server is a few lines."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kumihimo.engine.processes.nursery import Nursery
from kumihimo.runner.crew import Crew
from kumihimo.runner.desk import ActiveProject, Rejected, Taken, Trouble, Verdict
from kumihimo.runner.following import Following
from kumihimo.runner.mail import Mail
from kumihimo.runner.outbox import Outbox
from kumihimo.runner.pair import Pair
from kumihimo.runner.patience import Patience
from kumihimo.runner.records import Records
from kumihimo.runner.report import Report
from kumihimo.runner.runner import Runner
from kumihimo.runner.starter import Starter
from kumihimo.settings import Flags, load

AGENT, PROJECT = "agt_one", "prj_one"
PAIR = Pair(AGENT, PROJECT)


class Over(Exception):
    """The time of the test is up."""


class FastClock:
    """Time passes when somebody waits, and then at once. `over` raises where it has become that late."""

    def __init__(self, *, over: timedelta | None = None) -> None:
        self.began = self.at = datetime(2026, 1, 1, tzinfo=UTC)
        self._over = over
        self.sleeps: list[float] = []

    def now(self) -> datetime:
        return self.at

    def _pass(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        if self._over is not None and self.at - self.began > self._over:
            raise Over

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self._pass(seconds)
        await asyncio.sleep(0)

    async def wait(self, event: asyncio.Future[Any], seconds: float) -> bool:
        if not event.done():
            self._pass(seconds)
            await asyncio.sleep(0.01)
        return event.done()


class FakeDesk:
    """A server. `work` is asked which pairs may start; `trouble` is raised by everything while it is there."""

    def __init__(self, clock: FastClock, folder: Path, *, waits: bool = True) -> None:
        self._clock = clock
        self._folder = folder
        self.waits = waits
        self.version = "1"
        self.greeting = "1"
        self.worker_url = "http://127.0.0.1:9/mcp/worker"
        self.asked: list[str] = []
        self.reports: list[Report] = []
        self.trouble: Trouble | None = None
        self.rejects: str | None = None
        self.work: Callable[[], bool] = lambda: False
        self.client = "codex"

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.trouble is not None:
            raise self.trouble

    async def open(self) -> None:
        self._ask("open")

    async def projects(self) -> list[ActiveProject]:
        self._ask("projects")
        return [ActiveProject(PROJECT, str(self._folder), [AGENT, "agt_stranger"])]

    async def should_start(self, pair: Pair) -> Verdict:
        self._ask("should_start")
        return Verdict(pair == PAIR and self.work(), client=self.client)

    async def wait_for_work(self) -> list[Pair]:
        self._ask("wait_for_work")
        if self.work():
            return [PAIR]
        await self._clock.sleep(45)
        return []

    async def report(self, report: Report) -> Taken:
        self._ask(f"report {report.state}")
        if self.rejects == report.state:
            raise Rejected("no")
        self.reports.append(report)
        return Taken("kins_" + "a" * 32 if report.state == "starting" else None)

    async def close(self) -> None:
        """Nothing."""

    def states(self) -> list[str]:
        return [report.state for report in self.reports]


class Bench:
    """The parts of a Runner around a fake desk; everything on disk is under the folder."""

    def __init__(self, folder: Path, *, clock: FastClock | None = None, waits: bool = True, config: str = "") -> None:
        self.folder = folder
        self.state = folder / "home" / "runner"
        (folder / "home").mkdir(exist_ok=True)
        (folder / "work").mkdir(exist_ok=True)
        (folder / "home" / "config.toml").write_text(config)
        self.clock = clock or FastClock()
        self.desk = FakeDesk(self.clock, folder / "work", waits=waits)
        self.told: list[tuple[str, dict[str, Any]]] = []

    def runner(self, silence: timedelta = timedelta(days=1)) -> Runner:
        settings = load(Flags(), {"KUMI_HOME": str(self.folder / "home")}, self.folder / "work")
        desk: Any = self.desk
        self.records = Records(self.state / "instances", "fake")
        self.outbox = Outbox(self.state / "outbox", "fake")
        self.mail = Mail(desk, self.outbox, self.records, self.clock, self.tell)
        crew = Crew({AGENT: "a-passkey-of-a-test"}, Patience(self.state / "patience.json"), self.clock, self.tell)
        following = Following(desk, self.mail, crew, self.clock, self.tell, most=2, silence=silence)
        self.starter = Starter(settings, self.records, Nursery(1))
        return Runner(
            desk, self.starter, self.records, self.mail, following, crew, self.tell, self.clock, self._new_id
        )  # fmt: skip

    def tell(self, kind: str, facts: dict[str, Any]) -> None:
        self.told.append((kind, facts))

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.told]

    def _new_id(self) -> str:
        # Their own on this machine: processes are found by it.
        return f"ins_{uuid.uuid4().hex}"
