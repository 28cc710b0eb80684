"""Several homes on one database: no run starts twice, and each is ended by the home that started it."""

from __future__ import annotations

import pytest

from kumihimo.domain.execution import Execution

from . import cast
from .conftest import MakeHome
from .home import Home
from .patience import until

pytestmark = pytest.mark.slow


@pytest.fixture
def homes(database: str, make_home: MakeHome) -> list[Home]:
    return [make_home(name, database=database, slots=10) for name in ("one", "two")]


def owners(homes: list[Home], runs: list[Execution]) -> list[list[int]]:
    """In which of the homes each run has a folder in which it was started."""
    return [[n for n, home in enumerate(homes) if home.run_folder(run).was_started] for run in runs]


def begin(homes: list[Home]) -> list[Execution]:
    """Both supervisors at once; the runs are asked for when both are there."""
    one = homes[0]
    for home in homes:
        home.supervisor()
    until(lambda: len(one.board.hosts.alive()) == 2, "both")
    runs = cast.begin(one, one.folder / "gate")
    one.until_records("start", cast.SIZE)
    until(lambda: all(one.show(run).status == "running" for run in runs), "all of them")
    return runs


def test_two_homes_share_the_runs_and_start_none_twice(homes: list[Home]) -> None:
    runs = begin(homes)
    (homes[0].folder / "gate").touch()
    cast.require_all(homes[0], runs)
    where = owners(homes, runs)
    assert all(len(places) == 1 for places in where)
    # Twenty at once, and neither has room for more than ten.
    assert sorted(n for places in where for n in places) == [0] * 10 + [1] * 10


def test_the_runs_of_a_home_whose_supervisor_is_away_are_left_to_it(homes: list[Home]) -> None:
    one, two = homes
    runs = begin(homes)
    two.kill(two.processes[-1])
    (one.folder / "gate").touch()
    of_one = [run for run, places in zip(runs, owners(homes, runs), strict=True) if places == [0]]
    of_two = [run for run, places in zip(runs, owners(homes, runs), strict=True) if places == [1]]
    one.ended(of_one)
    until(lambda: len(one.records("end")) == cast.SIZE, "the end of all agents")
    assert {one.show(run).status for run in of_two} == {"running"}
    two.supervisor()
    cast.require_all(one, runs)


def test_a_run_is_stopped_by_the_home_that_has_it(homes: list[Home]) -> None:
    one = homes[0]
    runs = begin(homes)
    for run in runs:
        one.board.executions.stop(run.id)
    assert {run.status for run in one.ended(runs)} == {"cancelled"}
    assert one.alive() == homes[1].alive() == []


def test_a_run_that_was_claimed_and_not_started_is_not_given_to_another_home(homes: list[Home]) -> None:
    """Its shell may have been told already, and only at home is that known."""
    one, two = homes
    (run,) = one.run(one.script("one").say("hello"))
    kill = {"at": "kumihimo.engine.processes.nursery:Nursery.launch", "when": "after"}
    assert one.supervisor(kill).wait(60) == -9
    two.supervisor()
    (other,) = one.run(one.script("two"))
    assert two.ended([other])[0].status == "completed"
    one.supervisor()
    assert one.ended([run])[0].status == "completed"
    assert owners(homes, [run, other]) == [[0], [1]]
    assert len(one.records("start", "one")) == 1
