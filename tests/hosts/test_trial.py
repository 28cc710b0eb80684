"""Four hosts on one PostgreSQL, while they are killed, cut off, frozen and brought back: nothing is done twice or lost.

`KUMI_TRIAL_SEED` decides what happens when, and `KUMI_TRIAL_RUNS` how many runs there are.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .database import Database
from .judge import Judge, expected_back
from .machine import Machine
from .network import Network, NotAllowed
from .weather import Weather
from .workload import Workload

SEED = int(os.environ.get("KUMI_TRIAL_SEED", "20261116"))
RUNS = int(os.environ.get("KUMI_TRIAL_RUNS", "400"))
HOSTS, SLOTS = 4, 8
# A bound that keeps a broken trial from hanging, and says nothing about speed.
BOUND_SECONDS = 600.0
# How many runs are read once more by the command line of their host.
SAMPLES = 12


def _end(*_: object) -> None:
    raise SystemExit(143)


@pytest.fixture(autouse=True)
def in_order() -> Iterator[None]:
    """Who is told to end leaves nothing behind either."""
    before = signal.signal(signal.SIGTERM, _end)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def network() -> Iterator[Network]:
    made = Network()
    try:
        made.open()
    except NotAllowed as error:
        pytest.skip(str(error))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def work(network: Network, tmp_path: Path) -> Iterator[Workload]:
    with ExitStack() as stack:
        database = Database(network)
        stack.callback(database.close)
        made = Workload(tmp_path, database.url, SEED, RUNS)
        stack.callback(made.close)
        yield made
        print(f"{len(database.waits)} waits of more than a second for a lock")


@pytest.fixture
def machines(network: Network, work: Workload, tmp_path: Path) -> Iterator[list[Machine]]:
    with ExitStack() as stack:
        made: list[Machine] = []
        for _ in range(HOSTS):
            machine = Machine(network.add_host(), tmp_path, work, SLOTS)
            stack.callback(machine.close)
            machine.start()
            made.append(machine)
        for machine in made:
            machine.until_up()
        yield made


def test_four_hosts_that_are_killed_cut_off_and_frozen_do_every_run_once(
    work: Workload, machines: list[Machine]
) -> None:
    chance = random.Random(SEED)
    began = time.monotonic()
    weather = Weather(machines, SEED, blows=RUNS // 30)
    print(f"seed {SEED}, {RUNS} runs")
    try:
        while time.monotonic() < began + BOUND_SECONDS and (work.ask() or not weather.over):
            if chance.random() < 0.01:
                work.stop_one()
            time.sleep(0.1)
    finally:
        weather.stop()
    calm = time.monotonic()
    print(f"{dict(weather.fell)} in {calm - began:.0f} s")
    while (left := [*work.unfinished(), *expected_back(work, machines)]) and time.monotonic() < began + BOUND_SECONDS:
        time.sleep(0.5)
    assert left == []
    print(f"over {time.monotonic() - calm:.0f} s later")
    judge = Judge(work, machines)
    print(f"{dict(judge.outcomes)}, {len(work.instances())} instances for {len(work.tasks)} tasks")
    judge.require_one_outcome_each()
    judge.require_no_second_start()
    judge.require_true_ends()
    judge.require_stages_in_order()
    judge.require_every_line_once()
    judge.require_tasks_done_once()
    judge.require_doors_tell_the_same(chance, SAMPLES)
