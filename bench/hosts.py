"""Ten, a hundred and a thousand hosts on one PostgreSQL: what a run costs, how long a claim takes, and what idle hosts ask.

Cost is the time of all processes of the database. What hosts cost while nothing happens is measured first, and told apart
from what runs cost: leases are paid by the host and the second, runs by the run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from msgspec import Struct
from tables import budget, percentile, show

from kumihimo.app import open_board
from kumihimo.domain.errors import MaxConcurrentReached
from kumihimo.services.board import Board
from kumihimo.services.groups import Errand, Limits
from kumihimo.services.hosting import find_running
from kumihimo.settings import Flags, load
from kumihimo.supervisor.wake import CROWD
from kumihimo.testing.databases import PostgresServer

HOSTS = (10, 100, 1_000)
PROCESSES = 3
SETTLE_SECONDS, IDLE_SECONDS, STEADY_SECONDS, FLOOD_SECONDS = 25.0, 15.0, 25.0, 10.0
# In turns: the machine is not equally fast all the time.
ROUNDS = 2
# Well below what this machine can do: above it everybody waits for a processor, and nothing is learned about hosts.
RUNS_PER_SECOND = 20
TOGETHER = 5
# What each host has, as it does by default; and how many runs are under way at once at most, however many hosts there are.
SLOTS = 10
MOST = 400
# How soon somebody asks again who was told that there is no room: to be told so costs the database as well.
PATIENCE_SECONDS = 0.05
HERE = Path(__file__).parent
_TICK = os.sysconf("SC_CLK_TCK")
# What a process has used is in this place of its `stat`, behind its name: its own, and that of its children that ended.
_OWN, _ENDED = slice(11, 13), slice(13, 15)


class Meter:
    """Of one PostgreSQL: the processor time of all of its processes, and how many transactions there were in a database."""

    def __init__(self, folder: Path) -> None:
        self._postmaster = int((folder / "postmaster.pid").read_text().split()[0])

    def seconds(self) -> float:
        own, ended = _used(self._postmaster)
        children = Path(f"/proc/{self._postmaster}/task/{self._postmaster}/children").read_text().split()
        return own + ended + sum(_used(int(child))[0] for child in children)

    def transactions(self, url: str) -> int:
        with psycopg.connect(url, autocommit=True) as connection:
            found = connection.execute(
                "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
            ).fetchone()
        assert found is not None
        return found[0]


def _used(pid: int) -> tuple[float, float]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0, 0.0
    fields = stat[stat.rindex(")") + 2 :].split()
    return sum(map(int, fields[_OWN])) / _TICK, sum(map(int, fields[_ENDED])) / _TICK


class Fleet:
    """Some processes that play hosts until they are told to end."""

    def __init__(self, database: str, folder: Path, hosts: int, *, listens: bool) -> None:
        share = hosts // PROCESSES
        shares = [share + (number < hosts % PROCESSES) for number in range(PROCESSES)]
        self._processes = [
            subprocess.Popen(
                [sys.executable, str(HERE / "simulated_hosts.py"), json.dumps({
                    "database": database, "folder": str(folder), "first": number * hosts, "hosts": count,
                    "slots": SLOTS, "listens": listens,
                })],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for number, count in enumerate(shares)
        ]  # fmt: skip
        for process in self._processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"

    def end(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {"claims": [], "waits": [], "ends": []}
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes:
            assert process.stdout is not None
            for name, values in json.loads(process.stdout.read()).items():
                found[name] += values
            process.wait(30)
        return found

    def kill(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()


class Phase(Struct):
    """From when to when, and what the database used."""

    begin: float
    end: float
    seconds: float
    transactions: int

    @property
    def length(self) -> float:
        return self.end - self.begin

    def within(self, moments: list[tuple[float, float]]) -> list[float]:
        return [value for at, value in moments if self.begin <= at < self.end]


class Trial:
    """One number of hosts: idle, then some runs a second, then as many as there can be."""

    def __init__(self, server: PostgresServer, meter: Meter, folder: Path, hosts: int) -> None:
        self._meter = meter
        self._hosts = hosts
        self._most = min(MOST, hosts * SLOTS)
        self._url = server.new_database()
        self._server = server
        folder.mkdir(parents=True, exist_ok=True)
        self._board = open_board(load(Flags(), {"KUMI_HOME": str(folder), "KUMI_DB": self._url}, folder))
        self._project = self._board.projects.init(str(folder), git=False).project
        self._errand = Errand("coder", "go", str(folder))
        self._fleet = Fleet(self._url, folder, hosts, listens=hosts <= CROWD)

    def measure(self) -> list[float]:
        try:
            time.sleep(SETTLE_SECONDS)
            idle = self._phase(IDLE_SECONDS, 0.0)
            steady = self._phase(STEADY_SECONDS, RUNS_PER_SECOND)
            # To the end of the last run: what was claimed and has not ended would be paid for and not counted.
            flood = self._phase(FLOOD_SECONDS, 10_000, to_the_end=True)
            found = self._fleet.end()
        finally:
            self._fleet.kill()
            self._board.store.close()
        claims, waits = steady.within(found["claims"]), steady.within(found["waits"])
        ends = len(steady.within([(at, 0.0) for at in found["ends"]]))
        flooded = len(flood.within([(at, 0.0) for at in found["ends"]]))
        rush = msgspec.structs.replace(flood, end=flood.begin + FLOOD_SECONDS)
        background = idle.seconds / idle.length * steady.length
        self._server.drop(self._url)
        return [
            self._hosts, len(rush.within(found["claims"])) / rush.length,
            len(rush.within([(at, 0.0) for at in found["ends"]])) / rush.length,
            percentile(claims, 0.5), percentile(claims, 0.99), percentile(waits, 0.5), percentile(waits, 0.99),
            (steady.seconds - background) / ends * 1000, steady.seconds / ends * 1000,
            flood.seconds / flooded * 1000,
            idle.seconds / idle.length / self._hosts * 1000, idle.transactions / idle.length / self._hosts,
        ]  # fmt: skip

    def _phase(self, seconds: float, runs_per_second: float, *, to_the_end: bool = False) -> Phase:
        used, transactions, begin = self._meter.seconds(), self._meter.transactions(self._url), time.time()
        asked = 0
        while (passed := time.time() - begin) < seconds:
            if asked >= passed * runs_per_second:
                time.sleep(0.01)
            elif self._ask():
                asked += TOGETHER
            else:
                time.sleep(PATIENCE_SECONDS)
        if to_the_end:
            self._let_them_end()
        end = time.time()
        # The server counts a little late.
        time.sleep(1.0)
        return Phase(begin, end, self._meter.seconds() - used, self._meter.transactions(self._url) - transactions)

    def _ask(self) -> bool:
        """As a lead does: a group of runs at once."""
        board: Board = self._board
        if board.executions.count_live() + TOGETHER > self._most:
            return False
        try:
            group = board.groups.create("runs", project_id=self._project.id)
            board.groups.run(group.id, [self._errand] * TOGETHER, Limits(self._most, self._project.id))
        except MaxConcurrentReached:
            return False
        return True

    def _let_them_end(self) -> None:
        deadline = time.monotonic() + 60.0
        while self._board.executions.count_live() and time.monotonic() < deadline:
            time.sleep(0.1)


def idle_home(meter: Meter, server: PostgresServer, folder: Path) -> float:
    """Transactions a second of a real `kumi up` that nobody asks anything."""
    url = server.new_database()
    home = folder / "idle"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KUMI_")}
    words = [sys.executable, "-m", "kumihimo", "up", "--port", "0"]
    environment |= {"KUMI_HOME": str(home), "KUMI_DB": url}
    process = subprocess.Popen(words, env=environment, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        while find_running(home) is None:
            assert process.poll() is None
            time.sleep(0.1)
        # Behind its first lease: from then on it also gives up what others have left.
        time.sleep(40.0)
        before, begin = meter.transactions(url), time.monotonic()
        time.sleep(60.0)
        # Less the one that asked.
        return (meter.transactions(url) - before - 1) / (time.monotonic() - begin)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def run(folder: Path) -> None:
    data = folder / "data"
    server = PostgresServer(data)
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET max_connections = 1200")
        server.restart()
        meter = Meter(data)
        rounds = [
            [Trial(server, meter, folder / f"fleet-{number}-{hosts}", hosts).measure() for hosts in HOSTS]
            for number in range(ROUNDS)
        ]
        lines = [[sum(values) / ROUNDS for values in zip(*same, strict=True)] for same in zip(*rounds, strict=True)]
        idle = idle_home(meter, server, folder)
    finally:
        server.stop()
    show(
        f"Hosts on one PostgreSQL: {RUNS_PER_SECOND} runs a second of {MOST} at most, and as many as there can be",
        ["hosts", "claims/s", "ends/s", "claim p50 ms", "p99 ms", "wait p50 ms", "p99 ms", "CPU s/1,000 runs",
         "with leases", "at full load, with leases", "idle CPU ms/s/host", "idle transactions/s/host"],
        lines,
    )  # fmt: skip
    costs = [line[7] for line in lines]
    budget("a run among 1,000 hosts, against one among 10", costs[-1] / costs[0], 1.25)
    leased = [line[8] for line in lines]
    budget(f"the same with all leases, at {RUNS_PER_SECOND} runs a second", leased[-1] / leased[0], 1.25)
    loaded = [line[9] for line in lines]
    budget("the same at full load, with all leases", loaded[-1] / loaded[0], 1.25)
    budget("an idle host among 1,000", lines[-1][-1], 1.0, " queries/s")
    budget("an idle home, alone", idle, 1.0, " queries/s")
