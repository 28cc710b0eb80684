"""State machines: a small model beside the real board. After every step the two, and the log, must say the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kumihimo.domain import execution, task
from kumihimo.domain.errors import (
    AgentBusy,
    DependencyCycle,
    IllegalTransition,
    KumihimoError,
    StaleFence,
    TaskHeld,
    TaskNotReady,
    TokenRefused,
    WrongState,
)
from kumihimo.domain.session import LIFETIME, Process
from kumihimo.services.executions import LEASE
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish
from kumihimo.testing.boards import BoardKit

from .replay import differences, log, plain, replay

PICK = st.integers(0, 5)


class Machine(RuleBasedStateMachine):
    """What the three have in common: a board that other examples used before, and a log that is read as it grows."""

    noun: str

    def __init__(self, kit: BoardKit) -> None:
        super().__init__()
        self.kit = kit
        self.board = kit.board
        self.cursor = self.board.store.newest_cursor()
        self.replayed: dict[str, dict[str, Any]] = {}
        made = self.board.projects.init(f"/srv/{self.cursor}", git=False)
        self.project = made.project.id
        self.here = Place(self.project)

    def refused(self, error: type[KumihimoError], command: Callable[[], object]) -> None:
        """The command is refused, and nothing of it is written."""
        before = self.board.store.newest_cursor()
        with pytest.raises(error):
            command()
        assert self.board.store.newest_cursor() == before

    def expected(self) -> dict[str, dict[str, Any]]:
        """What the model knows of each thing."""
        raise NotImplementedError

    def stored(self) -> dict[str, Any]:
        """The rows of the things that this example made."""
        raise NotImplementedError

    @invariant()
    def model_and_board_and_log_agree(self) -> None:
        events = log(self.board.store, self.cursor)
        if events:
            self.cursor = events[-1].cursor
        replay(events, self.replayed)
        stored = {identifier: plain(value) for identifier, value in self.stored().items()}
        seen = {key: value for key, value in self.replayed.get(self.noun, {}).items() if key in stored}
        assert differences({self.noun: seen}, {self.noun: stored}) == []
        for identifier, facts in self.expected().items():
            assert {name: stored[identifier][name] for name in facts} == plain(facts)


class TaskMachine(Machine):
    noun = "task"

    def __init__(self, kit: BoardKit) -> None:
        super().__init__(kit)
        self.tasks: dict[str, dict[str, Any]] = {}
        self.guest = self.board.agents.list().items[-1].id

    def pick(self, number: int) -> str:
        return sorted(self.tasks)[number % len(self.tasks)]

    def expected(self) -> dict[str, dict[str, Any]]:
        return self.tasks

    def stored(self) -> dict[str, Any]:
        found = self.board.store.read(lambda t: t.tasks.many("WHERE project_id = ?", (self.project,)))
        return {value.id: value for value in found}

    @rule(assigned=st.booleans(), backlog=st.booleans(), others=st.lists(PICK, max_size=2), below=st.none() | PICK)
    def create(self, assigned: bool, backlog: bool, others: list[int], below: int | None) -> None:
        wanted = list(dict.fromkeys(self.pick(n) for n in others if self.tasks))
        parent = self.pick(below) if below is not None and self.tasks else None
        if parent and self.tasks[parent]["status"] in task.ENDED:
            parent = None
        new = NewTask(
            "work",
            assignee="coder" if assigned else None,
            status="backlog" if backlog else "todo",
            depends_on=wanted,
            parent=parent,
        )
        made = self.board.tasks.create(self.here, new).task
        self.tasks[made.id] = {
            "number": len(self.tasks) + 1,
            "status": "backlog" if backlog else "todo",
            "assignee_id": self.board.agents.show("coder").id if assigned else None,
            "depends_on": wanted,
            "parent_id": parent,
        }

    @precondition(lambda self: self.tasks)
    @rule(which=PICK, to=st.sampled_from(task.STATES.states()))
    def move(self, which: int, to: Any) -> None:
        chosen = self.pick(which)
        error = self.why_not(chosen, to)

        def command() -> object:
            return self.board.tasks.update(self.here, chosen, status=to)

        if error:
            self.refused(error, command)
        else:
            command()
            self.tasks[chosen]["status"] = to

    def why_not(self, chosen: str, to: str) -> type[KumihimoError] | None:
        known = self.tasks[chosen]
        if known["status"] == to:
            return None
        if (known["status"], to) not in task.STATES.rows:
            return IllegalTransition
        waits = any(self.tasks[other]["status"] != "done" for other in known["depends_on"])
        if to == "in_progress" and (known["assignee_id"] is None or waits):
            return TaskNotReady
        parts = [other for other in self.tasks.values() if other["parent_id"] == chosen]
        if to == "done" and any(part["status"] not in task.ENDED for part in parts):
            return TaskNotReady
        return None

    @precondition(lambda self: self.tasks)
    @rule(which=PICK, on=PICK)
    def depend(self, which: int, on: int) -> None:
        chosen, other = self.pick(which), self.pick(on)

        def command() -> object:
            return self.board.tasks.update(self.here, chosen, depends_on=[other])

        if self.reaches(other, chosen):
            self.refused(DependencyCycle, command)
        else:
            command()
            self.tasks[chosen]["depends_on"] = [other]

    def reaches(self, start: str, goal: str) -> bool:
        return start == goal or any(self.reaches(other, goal) for other in self.tasks[start]["depends_on"])

    @precondition(lambda self: self.tasks)
    @rule(which=PICK)
    def assign(self, which: int) -> None:
        chosen = self.pick(which)
        known = self.tasks[chosen]

        def command() -> object:
            return self.board.tasks.assign(self.here, chosen, self.guest)

        if known["assignee_id"] != self.guest and known["status"] not in task.ASSIGNABLE:
            self.refused(TaskHeld, command)
        else:
            command()
            known["assignee_id"] = self.guest


class ExecutionMachine(Machine):
    noun = "execution"
    ACTIONS = ("release", "start", "complete", "fail", "time_out", "cancel")

    def __init__(self, kit: BoardKit) -> None:
        super().__init__(kit)
        self.runs: dict[str, dict[str, Any]] = {}

    def expected(self) -> dict[str, dict[str, Any]]:
        return self.runs

    def stored(self) -> dict[str, Any]:
        found = self.board.store.read(lambda t: t.executions.many("WHERE project_id = ?", (self.project,)))
        return {value.id: value for value in found}

    def pick(self, number: int) -> str:
        return list(self.runs)[number % len(self.runs)]

    @rule()
    def enqueue(self) -> None:
        self.kit.clock.advance(seconds=1)
        wish = Wish(self.board.agents.show("coder"), "group", project_id=self.project)
        made = self.board.executions.enqueue(wish)
        assert made is not None
        self.runs[made.id] = {"status": "queued", "fence": 0, "owner": None, "lease_until": None}

    @rule(owner=st.sampled_from(["host-a", "host-b"]))
    def claim(self, owner: str) -> None:
        claimed = self.board.executions.claim(owner)
        waiting = [identifier for identifier, known in self.runs.items() if known["status"] == "queued"]
        assert (claimed.id if claimed else None) == (waiting[0] if waiting else None)
        if claimed:
            known = self.runs[claimed.id]
            known.update(status="starting", owner=owner, fence=known["fence"] + 1, lease_until=self.until())

    @precondition(lambda self: self.runs)
    @rule(which=PICK, action=st.sampled_from(ACTIONS), behind=st.sampled_from([0, 0, 0, 1]))
    def act(self, which: int, action: str, behind: int) -> None:
        chosen = self.pick(which)
        known = self.runs[chosen]
        after = execution.STATES.rows.get((known["status"], action))
        extra = {"fail": ("exited",), "time_out": ("idle",)}.get(action, ())

        def command() -> object:
            return getattr(self.board.executions, action)(chosen, known["fence"] - behind, *extra)

        if behind:
            self.refused(StaleFence, command)
        elif after is None:
            self.refused(IllegalTransition, command)
        else:
            command()
            known["status"] = after
            if action != "start":
                known.update(owner=None, lease_until=None)

    @precondition(lambda self: self.runs)
    @rule(which=PICK)
    def renew(self, which: int) -> None:
        chosen = self.pick(which)
        known = self.runs[chosen]

        def command() -> object:
            return self.board.executions.renew(chosen, known["fence"])

        # Only who holds a claim has a lease to renew.
        if known["lease_until"] is None:
            self.refused(WrongState, command)
        else:
            command()
            known["lease_until"] = self.until()

    @rule(seconds=st.sampled_from([1, 20, 40]))
    def time_passes(self, seconds: int) -> None:
        now = self.kit.clock.advance(seconds=seconds)
        lost = {run.id for run in self.board.executions.lose_expired()}
        over = {name for name, known in self.runs.items() if known["lease_until"] and known["lease_until"] < now}
        assert lost == over
        for identifier in lost:
            self.runs[identifier].update(status="lost", owner=None, lease_until=None)

    def until(self) -> datetime:
        return self.kit.clock() + LEASE

    def teardown(self) -> None:
        """The next example is to find an empty queue."""
        for identifier, known in self.runs.items():
            if known["status"] in execution.LIVE:
                self.board.executions.cancel(identifier, known["fence"])


class SessionMachine(Machine):
    noun = "session"

    def __init__(self, kit: BoardKit) -> None:
        super().__init__(kit)
        self.sessions: dict[str, dict[str, Any]] = {}
        self.tokens: dict[str, str] = {}
        self.dead: set[int] = set()
        self.agents = [agent.id for agent in self.board.agents.list(project_id=self.project).items[:2]]

    def expected(self) -> dict[str, dict[str, Any]]:
        return {name: {k: v for k, v in known.items() if k != "pid"} for name, known in self.sessions.items()}

    def stored(self) -> dict[str, Any]:
        found = self.board.store.read(lambda t: t.sessions.many("WHERE project_id = ?", (self.project,)))
        return {value.id: value for value in found}

    def end(self, identifier: str, reason: str) -> None:
        self.sessions[identifier].update(status="ended", end_reason=reason, ended_at=self.kit.clock())

    def over(self, known: dict[str, Any]) -> bool:
        return known["expires_at"] <= self.kit.clock()

    def pick(self, number: int) -> str:
        return list(self.sessions)[number % len(self.sessions)]

    @rule(who=st.integers(0, 1), pid=st.none() | st.integers(100, 103))
    def open(self, who: int, pid: int | None) -> None:
        agent = self.agents[who]
        live = next((n for n, s in self.sessions.items() if s["agent_id"] == agent and s["status"] == "live"), None)
        # A process of a machine that is not this one: never proven dead by a look from here.
        process = Process("elsewhere", "another boot", pid, 1) if pid else None

        def command() -> Any:
            return self.board.sessions.open(agent, self.project, process)

        if live and not self.over(self.sessions[live]):
            self.refused(AgentBusy, command)
            return
        if live:
            self.end(live, "expired")
        login = command()
        self.tokens[login.session.id] = login.token
        self.sessions[login.session.id] = {
            "agent_id": agent, "status": "live", "expires_at": self.kit.clock() + LIFETIME,
            "end_reason": None, "ended_at": None, "pid": pid,
        }  # fmt: skip

    @precondition(lambda self: self.sessions)
    @rule(which=PICK)
    def use(self, which: int) -> None:
        chosen = self.pick(which)
        known, token = self.sessions[chosen], self.tokens[chosen]
        if known["status"] == "ended":
            self.refused(TokenRefused, lambda: self.board.sessions.use(token))
        elif self.over(known):
            with pytest.raises(TokenRefused):
                self.board.sessions.use(token)
            self.end(chosen, "expired")
        else:
            self.board.sessions.use(token)
            known["expires_at"] = self.kit.clock() + LIFETIME

    @precondition(lambda self: self.sessions)
    @rule(which=PICK, reason=st.sampled_from(["completed", "logout", "closed"]))
    def close(self, which: int, reason: Any) -> None:
        chosen = self.pick(which)
        self.board.sessions.end(chosen, reason)
        if self.sessions[chosen]["status"] == "live":
            self.end(chosen, reason)

    @rule(length=st.sampled_from([2.0, 1800.0, 3600.0]))
    def time_passes(self, length: float) -> None:
        self.kit.clock.at += timedelta(seconds=length)

    @rule(pid=st.integers(100, 103))
    def process_dies(self, pid: int) -> None:
        self.dead.add(pid)

    @rule()
    def sweep(self) -> None:
        self.board.sessions.sweep(lambda process: process.pid in self.dead)
        for identifier, known in self.sessions.items():
            if known["status"] == "live" and (known["pid"] in self.dead or self.over(known)):
                self.end(identifier, "process_died" if known["pid"] in self.dead else "expired")

    def teardown(self) -> None:
        for identifier in self.sessions:
            self.board.sessions.end(identifier, "closed")
