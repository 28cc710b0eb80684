"""An editor that is closed, a stdio server or a host process that is killed: the agents go on, and whoever waits next hears."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from kumihimo.domain.execution import Execution
from kumihimo.engine.processes import tree

from . import cast
from .home import Home
from .lead import Lead
from .patience import until

pytestmark = pytest.mark.slow
_GROUPS = "kumihimo.services.groups:Groups"


def begin(home: Home, lead: Lead) -> list[Execution]:
    prompts = [part.script(home, home.folder / "gate").prompt() for part in cast.CAST]
    return [home.board.executions.show(run) for run in lead.run_agents(home, prompts)]


def kill_host(home: Home) -> None:
    """The one that a door has started."""
    found = until(home.running, "the host process")
    tree.send([found.process], signal.SIGKILL)
    until(lambda: home.running() is None, "its end")


def wait_for_all(home: Home, runs: list[Execution]) -> None:
    """As a lead of another editor does: its wait starts a host process where there is none."""
    lead = Lead(home)
    answer = lead.call("wait_agent", agentIds=[run.id for run in runs])
    assert (len(answer["completed"]), answer["pending"]) == (cast.SIZE, [])
    lead.close()


@pytest.mark.parametrize("killed", ["the stdio server", "the host process", "both"])
def test_whichever_is_killed_the_twenty_agents_run_once_to_their_own_end(either_home: Home, killed: str) -> None:
    home = either_home
    lead = Lead(home)
    runs = begin(home, lead)
    home.until_records("start", cast.SIZE)
    if killed != "the host process":
        home.kill(lead.process)
    if killed != "the stdio server":
        kill_host(home)
    (home.folder / "gate").touch()
    wait_for_all(home, runs)
    cast.require_all(home, runs)


def test_a_stdio_server_killed_before_it_commits_has_started_nothing(either_home: Home) -> None:
    home = either_home
    connection = type(home.board.store.connection)
    at = f"{connection.__module__}:{connection.__name__}.notify"
    lead = Lead(home, {"at": at, "when": "before", "passing": 2})
    with pytest.raises(EOFError):
        begin(home, lead)
    assert lead.process.wait(30) == -9
    assert home.all_runs() == []
    assert home.records("start") == []


def test_a_stdio_server_killed_before_it_could_answer_has_started_all_once(either_home: Home) -> None:
    home = either_home
    lead = Lead(home, {"at": f"{_GROUPS}.run", "when": "after"})
    (home.folder / "gate").touch()
    with pytest.raises(EOFError):
        begin(home, lead)
    assert lead.process.wait(30) == -9
    runs = sorted(home.all_runs(), key=lambda run: int(run.prompt.partition('"name": "agent-')[2].partition('"')[0]))
    assert len(runs) == cast.SIZE
    cast.require_all(home, runs)


def test_of_host_processes_that_are_started_at_once_one_stays(home: Home) -> None:
    words = [sys.executable, "-m", "kumihimo", "up", "--port", "0"]
    several = [home.spawn(words) for _ in range(4)]
    until(lambda: sum(one.poll() is None for one in several) == 1 and home.running(), "one of four")
    (stays,) = [one for one in several if one.poll() is None]
    assert home.running().process.pid == stays.pid
    runs = cast.begin(home, home.folder / "gate")
    (home.folder / "gate").touch()
    cast.require_all(home, runs)
    assert stays.poll() is None


def test_the_host_process_that_an_agent_started_is_not_of_its_run(home: Home) -> None:
    """An agent whose tools find no host process starts one: it lives on when that run is stopped, and its runs with it."""
    gate = home.folder / "gate"
    up = f"{sys.executable} -m kumihimo up --detach --port 0"
    first = home.supervisor()
    (mother,) = home.run(home.script("mother").wait(home.folder / "begin").shell(up).hang())
    home.until_records("start", 1)
    home.kill(first)
    (home.folder / "begin").touch()
    host = until(home.running, "the host process")
    (other,) = home.run(home.script("other").say("hello").wait(gate))
    home.until_records("start", 2)
    home.board.executions.stop(mother.id)
    assert home.ended([mother])[0].status == "cancelled"
    gate.touch()
    assert home.ended([other])[0].status == "completed"
    assert home.running() == host


def test_kumi_down_leaves_the_agents_at_work(home: Home) -> None:
    gate = home.folder / "gate"
    host = home.up()
    runs = cast.begin(home, gate)
    home.until_records("start", cast.SIZE)
    subprocess.run(
        [sys.executable, "-m", "kumihimo", "down"], env=home.environment, cwd=home.folder, check=True, timeout=60,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert host.wait(30) == 0
    gate.touch()
    home.up()
    cast.require_all(home, runs)
