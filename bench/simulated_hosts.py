"""Many hosts in one process: each says that it lives, claims, notes starts, what it saw and ends, by the very code that a host
process runs, but for agents, which are only waited for. A few threads, each with one connection, play a share of them.

    python simulated_hosts.py '{"database": …, "folder": …, "first": 0, "hosts": 250, "slots": 2, "listens": false}'

It plays until its input ends, and then prints what each claim and each end took.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import select
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from kumihimo.app import open_board
from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Observation
from kumihimo.domain.token import Token
from kumihimo.services.board import Board
from kumihimo.settings import Flags, HostSection, load
from kumihimo.store.listening import WORK
from kumihimo.supervisor import places, presence, supervisor, verifier
from kumihimo.supervisor.presence import Presence

THREADS = 3
RUN_SECONDS = 0.5
GROWING_SECONDS = 22.0
# Every host has this, as far as anybody asks: to look for programs is no work of the database.
CLIENTS = ("claude-code", "codex")


class Order(Struct, frozen=True):
    """`listens`: every host is woken by a connection of its own, as it is where there are few; else it looks now and then."""

    database: str
    folder: str
    first: int
    hosts: int
    slots: int
    listens: bool


class Moments(Struct):
    """What was measured, each with the time at which it was over: claims in ms, waits from asked-for to claimed, and ends."""

    claims: list[tuple[float, float]]
    waits: list[tuple[float, float]]
    ends: list[float]


class SimulatedHost:
    def __init__(self, board: Board, name: str, order: Order, moments: Moments) -> None:
        self._board = board
        self._moments = moments
        self.id = f"host_{name}"
        environ = {"KUMI_HOME": order.folder, "KUMI_DB": order.database}
        settings = load(Flags(), environ, Path(order.folder))
        settings = structs.replace(settings, max_concurrent=order.slots, host=HostSection(name=name))
        self._slots = order.slots
        self._presence = Presence(settings, board, self.id, name, print)
        self._runs: dict[str, tuple[Execution, float]] = {}
        self._grown_at = time.monotonic() + GROWING_SECONDS
        self._stops_at = self._places_at = self._observe_at = 0.0

    @property
    def next_end(self) -> float | None:
        return min((end for _, end in self._runs.values()), default=None)

    @property
    def busy(self) -> bool:
        return bool(self._runs)

    def renew(self) -> bool:
        """Answers whether something waits that it may claim."""
        if time.monotonic() < self._grown_at:
            # All come up within seconds here, and are measured as if they had been there for minutes.
            self._presence._reach_at = 0.0  # noqa: SLF001
        self._presence.renew()
        if not self._presence.crowded:
            self._board.hosts.parked()
        return self._presence.awaited.work

    @property
    def hesitation(self) -> float:
        return self._presence.hesitation

    @property
    def looks_between(self) -> bool:
        return self._presence.looks_between

    @property
    def pause(self) -> float:
        return self._presence.pause

    def verify(self) -> None:
        """What is looked at beside the supervisor."""
        if self._board.evidence.anything_to_look_at(self.id):
            self._board.evidence.unverified(self.id)
            self._board.workers.attended(self.id)

    def tidy(self) -> None:
        """And now and then."""
        self._board.workers.expire_unused()

    def make_places(self) -> None:
        """What workers wait for here whom somebody has asked for elsewhere."""
        if time.monotonic() >= self._places_at:
            self._board.executions.to_be_placed((self.id,))
            self._places_at = time.monotonic() + places._PAUSE_SECONDS  # noqa: SLF001 - as often as it does

    def look(self) -> None:
        """As a supervisor that was woken: whether something waits, and then as much of it as there is room for."""
        free = self._slots - len(self._runs)
        while free > 0 and self._board.executions.waiting(self._presence.reach):
            limit = min(free, 20)
            claimed = self._claim(limit)
            if claimed:
                self._launch(claimed)
            if len(claimed) < limit:
                return
            free -= len(claimed)

    def _claim(self, limit: int) -> list[Execution]:
        board, here = self._board, self._presence
        begun = time.perf_counter()

        def claim(_: object) -> list[Execution]:
            found = board.executions.claim_some(self.id, limit, fits=here.takes, reach=here.reach)
            board.tokens.issue_all([Token("run", run.agent_id, run.project_id, run.id) for run in found])
            return found

        claimed = board.store.write(claim)
        took, now = (time.perf_counter() - begun) * 1000, board.clock()
        for run in claimed:
            self._moments.claims.append((time.time(), took))
            self._moments.waits.append((time.time(), (now - run.queued_at).total_seconds() * 1000))
        return claimed

    def _launch(self, claimed: list[Execution]) -> None:
        board = self._board

        def look_up() -> None:
            for agent in {run.agent_id for run in claimed}:
                board.agents.show(agent)
            for project in {run.project_id for run in claimed}:
                board.memories.decisions(project)
                board.projects.show(project or "")

        board.store.look(look_up)
        started = board.store.write(
            lambda _: [board.executions.start(run.id, run.fence, log_path="/nowhere") for run in claimed]
        )
        for run in started:
            self._runs[run.id] = (run, time.monotonic() + RUN_SECONDS * random.uniform(0.8, 1.2))

    def observe(self) -> None:
        """What was seen since."""
        if self._runs:
            if time.monotonic() >= self._observe_at:
                self._board.executions.observe([_seen(run) for run in self._runs])
                pause = supervisor.CROWDED_NOTE_SECONDS if self._presence.crowded else 0.0
                self._observe_at = time.monotonic() + pause
            if time.monotonic() >= self._stops_at:
                self.stop_some()

    def stop_some(self) -> None:
        if self._runs:
            self._board.executions.to_be_stopped(self.id)
            self._stops_at = time.monotonic() + supervisor._STOPS_SECONDS  # noqa: SLF001 - as often as it does

    def finish(self) -> None:
        now, runs = time.monotonic(), self._board.executions
        over = [run for run, end in self._runs.values() if end <= now]
        if not over:
            return

        def end(_: object) -> None:
            for run in over:
                runs.show(run.id)
                runs.observe([_seen(run.id)])
                runs.complete(run.id, run.fence)

        self._board.store.write(end)
        for run in over:
            del self._runs[run.id]
            self._moments.ends.append(time.time())
        self.verify()
        for run in over:
            # For its proof.
            runs.sight(run.id)
            self._board.evidence.of(run.id)
        self.look()


def _heard(connection: Any) -> bool:
    """Whether somebody rang because there is work."""
    line = connection.pgconn
    line.consume_input()
    heard = False
    while notice := line.notifies():
        heard = heard or notice.extra == WORK.encode()
    return heard


def _seen(run: str) -> Observation:
    return Observation(run, lines=10, position=1_000, last_message="Still at it.")


class Stage(threading.Thread):
    """A thread that plays some hosts, one thing after the other, each when it is due."""

    def __init__(self, order: Order, names: list[str], over: threading.Event, moments: Moments) -> None:
        super().__init__()
        self._order = order
        self._names = names
        self._over = over
        self._moments = moments
        self._due: list[tuple[float, int, Callable[[], Any]]] = []
        self._count = 0
        self._looks: dict[str, float] = {}

    def run(self) -> None:
        settings = load(Flags(), {"KUMI_HOME": self._order.folder, "KUMI_DB": self._order.database}, Path("/"))
        board = open_board(settings)
        hosts = [SimulatedHost(board, name, self._order, self._moments) for name in self._names]
        bells = {connection.fileno(): (host, connection) for host, connection in self._bells(board, hosts)}
        poll = select.epoll()
        for descriptor in bells:
            poll.register(descriptor, select.EPOLLIN)
        for host in hosts:
            self._plan(host)
        while not self._over.is_set():
            self._play()
            wait = max(0.0, min(self._due[0][0] - time.monotonic(), 0.2))
            for descriptor, _ in poll.poll(wait):
                host, connection = bells[descriptor]
                if _heard(connection):
                    self._ring(host)
        for _, connection in bells.values():
            connection.close()
        board.store.close()

    def _bells(self, board: Board, hosts: list[SimulatedHost]) -> list[tuple[SimulatedHost, Any]]:
        connection: Any = board.store.connection
        return [(host, connection.listen()) for host in hosts] if self._order.listens else []

    def _plan(self, host: SimulatedHost) -> None:
        """Not all in the same moment: hosts come up whenever they do."""
        self._at(time.monotonic() + random.uniform(0.0, presence.RENEW_SECONDS), lambda: self._renew(host))
        self._every(verifier._ASK_SECONDS, host.verify)  # noqa: SLF001 - as often as it does
        self._every(verifier._TIDY_SECONDS, host.tidy)  # noqa: SLF001
        self._every(places._LOOK_SECONDS, host.make_places)  # noqa: SLF001

    def _renew(self, host: SimulatedHost) -> None:
        """Who is not rung for looks when it says that it lives, and perhaps once in between."""
        if host.renew():
            self._look(host)
        self._at(time.monotonic() + host.pause, lambda: self._renew(host))
        if not self._order.listens and host.looks_between:
            self._at(time.monotonic() + presence.RENEW_SECONDS / 2, lambda: self._look(host))

    def _ring(self, host: SimulatedHost) -> None:
        """It is woken: it looks at once at what is to be stopped, and at what waits when it is its turn."""
        host.stop_some()
        host.make_places()
        when = time.monotonic() + host.hesitation
        if when < self._looks.get(host.id, float("inf")):
            self._looks[host.id] = when
            self._at(when, lambda: self._look_if_due(host, when))

    def _look_if_due(self, host: SimulatedHost, when: float) -> None:
        # One that was to look later has looked sooner by now.
        if self._looks.get(host.id) == when:
            del self._looks[host.id]
            self._look(host)

    def _look(self, host: SimulatedHost) -> None:
        busy = host.busy
        host.look()
        if host.busy and not busy:
            self._follow(host)

    def _follow(self, host: SimulatedHost) -> None:
        """While it has runs."""
        host.observe()
        host.finish()
        if host.next_end is not None:
            wait = min(host.next_end - time.monotonic(), supervisor._SHARED_LOOK_SECONDS)  # noqa: SLF001
            self._at(time.monotonic() + max(0.0, wait), lambda: self._follow(host))

    def _every(self, seconds: float, action: Callable[[], Any]) -> None:
        def again() -> None:
            action()
            self._at(time.monotonic() + seconds, again)

        self._at(time.monotonic() + random.uniform(0.0, seconds), again)

    def _at(self, when: float, action: Callable[[], Any]) -> None:
        self._count += 1
        heapq.heappush(self._due, (when, self._count, action))

    def _play(self) -> None:
        while self._due[0][0] <= time.monotonic() and not self._over.is_set():
            heapq.heappop(self._due)[2]()


def main(order: Order) -> None:
    presence.found_clients = lambda _: CLIENTS
    over, moments = threading.Event(), Moments([], [], [])
    names = [f"h{order.first + number}" for number in range(order.hosts)]
    stages = [Stage(order, names[n::THREADS], over, moments) for n in range(min(THREADS, order.hosts))]
    for stage in stages:
        stage.start()
    print("ready", flush=True)
    sys.stdin.read()
    over.set()
    for stage in stages:
        stage.join()
    print(json.dumps({name: getattr(moments, name) for name in ("claims", "waits", "ends")}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    import msgspec

    main(msgspec.json.decode(sys.argv[1], type=Order))
