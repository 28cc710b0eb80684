"""`kill -9` of the supervisor at any point: no agent stops or starts twice, no line and no exit code is lost."""

from __future__ import annotations

import pytest

from kumihimo.domain.execution import Execution

from . import cast
from .home import Home
from .patience import until
from .points import RUNNING, STOPPING, Point

pytestmark = pytest.mark.slow


@pytest.fixture
def home(either_home: Home) -> Home:
    return either_home


def run_to_death(home: Home, point: Point) -> None:
    """One supervisor after the other, each until it dies where the point says."""
    gate = home.folder / "gate"
    for kill in point.kills:
        supervisor = home.supervisor(kill)
        # Whether it dies before its agents go on or because of it: they must not wait for ever.
        until(lambda: supervisor.poll() is not None or len(home.records("start")) == cast.SIZE, point.name)  # noqa: B023
        gate.touch()
        assert supervisor.wait(60) == -9, home.said


def stay_away(home: Home) -> None:
    """Until everything that was started has ended."""
    until(lambda: len(home.records("end")) == len(home.records("start")) and not home.alive(), "the end of the agents")


@pytest.mark.parametrize("point", RUNNING, ids=lambda point: point.name)
def test_a_supervisor_killed_while_twenty_run_loses_and_repeats_nothing(home: Home, point: Point) -> None:
    runs = cast.begin(home, home.folder / "gate")
    run_to_death(home, point)
    if point.stays_away:
        stay_away(home)
    home.supervisor()
    cast.require_all(home, runs)
    assert home.alive() == []


@pytest.mark.parametrize("point", STOPPING, ids=lambda point: point.name)
def test_a_supervisor_killed_while_twenty_are_stopped_leaves_none_of_them(home: Home, point: Point) -> None:
    scripts = [home.script(part.name).lines(3).child().daemon().hang() for part in cast.CAST]
    runs = home.run(*scripts)
    first, *others = point.kills
    supervisor = home.supervisor(first)
    home.until_records("daemon", cast.SIZE)
    stop_all(home, runs)
    assert supervisor.wait(60) == -9, home.said
    for kill in others:
        assert home.supervisor(kill).wait(60) == -9, home.said
    home.supervisor()
    for run in home.ended(runs):
        assert (run.status, run.exit_code, run.signal, run.survivors) == ("cancelled", 143, "SIGTERM", ())
        assert home.seen(run).lines == 5
    assert home.alive() == []
    assert len(home.records("start")) == cast.SIZE


def stop_all(home: Home, runs: list[Execution]) -> None:
    # At once, so that the points lie in the middle of many.
    home.board.store.write(lambda _: [home.board.executions.stop(run.id) for run in runs])


def test_there_are_at_least_twenty_points() -> None:
    assert len({point.name for point in RUNNING + STOPPING}) >= 20
