"""The work of a trial: groups, plans and tasks for Runners, asked for as fast as there is room, each known beforehand."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from unittest import mock

from msgspec import Struct

from kumihimo.app import open_board
from kumihimo.domain.errors import MaxConcurrentReached
from kumihimo.domain.event import Event
from kumihimo.domain.execution import Execution
from kumihimo.domain.instance import Instance
from kumihimo.domain.task import Task
from kumihimo.domain.token import Token
from kumihimo.services.groups import Errand, Limits, Plan
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.settings import Flags, load
from kumihimo.testing.scripts import Script
from tests.promises.replay import log
from tests.runner.yard import logs_in, reports

AGENTS = 12
_ROLE = "command"


class Order(Struct, frozen=True):
    """What one agent is told to do."""

    lines: int
    pause: float
    code: int

    @property
    def prompt(self) -> str:
        return f"trial: {self.lines} {self.pause:.2f} {self.code}"


class Workload:
    """`runs` in all: half of them in groups, a quarter in plans, a quarter by Runners."""

    def __init__(self, folder: Path, database: str, seed: int, runs: int) -> None:
        self.database = database
        self._chance = random.Random(f"{seed} work")
        self.project_folder = folder / "project"
        self.project_folder.mkdir()
        settings = load(Flags(), {"KUMI_HOME": str(folder / "desk"), "KUMI_DB": database}, folder)
        self.board = open_board(settings)
        self.project = self.board.projects.add("project", str(self.project_folder))
        self.agents_log = folder / "agents.log"
        self.trace = folder / "trace"
        self.passkeys: dict[str, str] = {}
        self._names: list[str] = []
        self._hire()
        self.orders: dict[str, Order] = {}
        self.runs: list[str] = []
        self.plans: list[Plan] = []
        self.tasks: list[Task] = []
        self._left = [*self._groups(runs // 2), *self._plans(runs // 4), *self._tasks(runs - runs // 2 - runs // 4)]
        self._chance.shuffle(self._left)

    def _hire(self) -> None:
        # Nobody logs in as this one, and to hash a passkey takes longer than all the rest.
        with mock.patch("kumihimo.services.passkeys.hash_of", return_value="none"):
            self.board.agents.add(_ROLE, client="command")
        for number in range(AGENTS):
            added = self.board.agents.add(f"worker-{number}", client="codex")
            self.board.projects.assign(self.project.id, added.agent)
            self.passkeys[added.agent.id] = added.passkey
            self._names.append(added.agent.name)

    @property
    def runner_token(self) -> str:
        return self.board.tokens.issue(Token("runner"))

    @property
    def script(self) -> Script:
        """What agents of Runners do. They try for long: the door that they were given may be away."""
        return reports(logs_in(Script(log=self.agents_log)).sleep(0.3))

    # What is still to be asked for.

    def _groups(self, runs: int) -> Iterator[Callable[[], None]]:
        while runs > 0:
            size = min(runs, self._chance.randint(1, 8))
            runs -= size
            yield lambda size=size: self._ask_for_group(size)

    def _plans(self, runs: int) -> Iterator[Callable[[], None]]:
        while runs > 0:
            sizes: list[int] = []
            while runs > 0 and len(sizes) < 4:
                sizes.append(min(runs, self._chance.randint(1, 3)))
                runs -= sizes[-1]
            on_failure = self._chance.choice(["continue", "stop"])
            yield lambda sizes=sizes, on_failure=on_failure: self._ask_for_plan(sizes, on_failure)

    def _tasks(self, runs: int) -> Iterator[Callable[[], None]]:
        for number in range(runs):
            yield lambda number=number: self._add_task(number)

    def ask(self) -> bool:
        """For the next, if there is room; True while there is more."""
        if self._left:
            with suppress(MaxConcurrentReached):
                self._left[-1]()
                self._left.pop()
        return bool(self._left)

    def stop_one(self) -> None:
        """Somebody does not want a run any more, however far it is."""
        if self.runs:
            self.board.executions.stop(self._chance.choice(self.runs))

    def _ask_for_group(self, size: int) -> None:
        group = self.board.groups.create("a group")
        orders = [self._order() for _ in range(size)]
        runs = self.board.groups.run(group.id, [self._errand(order) for order in orders], self._limits)
        self._note(runs, orders)

    def _ask_for_plan(self, sizes: list[int], on_failure: str) -> None:
        group = self.board.groups.create("a plan", mode="sequential")
        orders = [[self._order() for _ in range(size)] for size in sizes]
        errands = [[self._errand(order) for order in stage] for stage in orders]
        plan = self.board.groups.plan(group.id, errands, self._limits, on_failure=on_failure)  # type: ignore[arg-type]
        self.plans.append(plan)
        for runs, stage in zip(plan.stages, orders, strict=True):
            self._note(runs, stage)

    def _add_task(self, number: int) -> None:
        new = NewTask(f"task {number}", status="in_progress", assignee=self._names[number % AGENTS])
        self.tasks.append(self.board.tasks.create(Place(self.project.id), new).task)

    def _order(self) -> Order:
        return Order(
            self._chance.randint(1, 40), self._chance.choice([0.0, 0.1, 0.5, 1.0]), int(self._chance.random() < 0.1)
        )

    def _errand(self, order: Order) -> Errand:
        return Errand(_ROLE, order.prompt, str(self.project_folder))

    @property
    def _limits(self) -> Limits:
        return Limits(1, self.project.id)

    def _note(self, runs: list[Execution], orders: list[Order]) -> None:
        self.runs += [run.id for run in runs]
        self.orders.update((run.id, order) for run, order in zip(runs, orders, strict=True))

    # How far it is.

    def executions(self) -> list[Execution]:
        return self.board.store.read(lambda transaction: transaction.executions.by_ids(self.runs))

    def unfinished(self) -> list[str]:
        """Everything that was asked for and is not over."""
        runs = [f"{run.id} {run.status} at {run.host_id}" for run in self.executions() if run.live]
        known = self.board.store.read(lambda transaction: transaction.tasks.by_ids([task.id for task in self.tasks]))
        tasks = [f"task {task.number} {task.status}" for task in known.values() if task.status == "in_progress"]
        instances = [f"{one.id} {one.state}" for one in self.instances() if one.state != "exited"]
        return [*runs, *tasks, *instances]

    def instances(self) -> list[Instance]:
        return self.board.store.read(lambda transaction: transaction.instances.many())

    def events(self) -> list[Event]:
        return log(self.board.store)

    def close(self) -> None:
        self.board.store.close()
