"""Stop ends everything that belongs to a run, and nothing else; a time that is up ends it likewise."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from kumihimo.domain.execution import Execution
from kumihimo.testing.scripts import Script, is_alive

from .bystander import Bystander
from .conftest import MakeHome
from .home import Home
from .patience import until

# How many processes each of them is, and what becomes of the agent.
TREES: dict[str, tuple[Callable[[Script], Script], int, str]] = {
    "alone": (lambda script: script, 1, "SIGTERM"),
    "with a child in its group": (lambda script: script.child(), 2, "SIGTERM"),
    "with a daemon": (lambda script: script.daemon(), 2, "SIGTERM"),
    "with a daemon that cleared its environment": (lambda script: script.daemon(environment="clear"), 2, "SIGTERM"),
    "with a child that ignores TERM": (lambda script: script.child(ignore_term=True), 2, "SIGTERM"),
    "with a daemon that ignores TERM": (lambda script: script.daemon(ignore_term=True), 2, "SIGTERM"),
    "with a hidden daemon that ignores TERM": (
        lambda script: script.daemon(ignore_term=True, environment="clear"), 2, "SIGTERM",
    ),
    "with a child that holds its output": (lambda script: script.child(holds_output=True), 2, "SIGTERM"),
    "that ignores TERM": (lambda script: script.ignore_term("TERM", "INT", "HUP"), 1, "SIGKILL"),
}  # fmt: skip
# A shell that answers TERM by starting others, one of them far away.
_FORKS_ON_TERM = (
    "trap 'sleep 1000 & setsid sleep 1000 & env -i setsid sleep 1000 & exit 9' TERM; echo > {ready}; "
    "while :; do sleep 0.05; done"
)


def at_work(home: Home, script: Script, processes: int) -> Execution:
    """Running, with all of its processes."""
    (run,) = home.run(script.note("ready").hang())
    home.until_records("note", 1)
    assert len(home.alive()) >= processes
    return home.until_status(run, "running")


def stopped(home: Home, run: Execution) -> Execution:
    home.board.executions.stop(run.id)
    (ended,) = home.ended([run])
    return ended


@pytest.mark.parametrize("tree", TREES)
def test_stop_leaves_no_process_of_the_run(home: Home, bystander: Bystander, tmp_path: Path, tree: str) -> None:
    grow, processes, signal_name = TREES[tree]
    home.supervisor(patience=1.0)
    run = at_work(home, grow(home.script("one")), processes)
    with Bystander(tmp_path / "near", own_session=False) as near:
        ended = stopped(home, run)
        assert (ended.status, ended.failure_reason, ended.survivors) == ("cancelled", "cancelled", ())
        assert (ended.exit_code, ended.signal) == ({"SIGTERM": 143, "SIGKILL": 137}[signal_name], signal_name)
        assert not [
            record for event in ("start", "child", "daemon") for record in home.records(event) if is_alive(record)
        ]
        assert home.alive() == []
        assert near.was_left_alone
    assert bystander.was_left_alone


def test_an_agent_that_takes_its_time_over_term_ends_in_its_own_way(home: Home) -> None:
    home.supervisor()
    run = at_work(home, home.script("one").trap_term(seconds=1.0, code=42), 1)
    ended = stopped(home, run)
    assert (ended.status, ended.exit_code, ended.signal, ended.survivors) == ("cancelled", 42, None, ())
    assert [record["event"] for record in home.records("term")] == ["term"]


def test_what_an_agent_starts_when_it_is_told_to_end_is_ended_too(home: Home, bystander: Bystander) -> None:
    home.supervisor(patience=1.0)
    ready = home.folder / "ready"
    (run,) = home.run(home.script("one").ignore_term().shell(_FORKS_ON_TERM.format(ready=ready)))
    until(ready.exists, "the shell")
    ended = stopped(home, run)
    assert (ended.status, ended.survivors) == ("cancelled", ())
    assert home.alive() == []
    assert processes_in(home.project_folder) == []
    assert bystander.was_left_alone


def processes_in(folder: Path) -> list[int]:
    """Whoever works in this folder: a project of this test, so nobody else has a reason to."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and (entry / "cwd").readlink() == folder
                and "sleep" in (entry / "comm").read_text()
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_run_that_carries_another_runs_name_in_its_arguments_is_not_stopped_with_it(home: Home) -> None:
    home.supervisor()
    gate = home.folder / "gate"
    first = at_work(home, home.script("one"), 1)
    (second,) = home.run(home.script(first.id, session=first.id).say(first.id).wait(gate))
    home.until_records("start", 2)
    assert stopped(home, first).status == "cancelled"
    gate.touch()
    assert home.ended([second])[0].status == "completed"


def test_stop_of_what_waits_is_its_end_and_starts_nothing(home: Home) -> None:
    stages = home.plan([[home.script("one")], [home.script("two")]])
    for run in (stages[0][0], stages[1][0]):
        assert home.board.executions.stop(run.id).status == "cancelled"
    supervisor = home.supervisor()
    (last,) = home.run(home.script("three"))
    home.ended([last])
    assert [record["name"] for record in home.records("start")] == ["three"]
    assert supervisor.poll() is None


@pytest.mark.parametrize("reaches", ["claimed", "launched"])
def test_stop_of_a_run_that_is_just_starting_ends_it(either_home: Home, reaches: str) -> None:
    """Between the claim and the first sign of life of its shell."""
    home = either_home
    at = {"claimed": "Starter._launch", "launched": "Starter.note"}[reaches]
    slow = {"at": f"kumihimo.supervisor.starter:{at}", "file": str(home.folder / "go")}
    supervisor = home.supervisor(pauses=[slow])
    (run,) = home.run(home.script("one").hang())
    home.until_status(run, "starting")
    assert home.board.executions.stop(run.id).stopping == "cancelled"
    (home.folder / "go").touch()
    (ended,) = home.ended([run])
    assert (ended.status, ended.survivors) == ("cancelled", ())
    assert home.alive() == []
    # It still listens to others.
    (other,) = home.run(home.script("two"))
    assert home.ended([other])[0].status == "completed"
    assert supervisor.poll() is None


def test_stop_of_a_run_whose_shell_has_not_come_to_it_ends_what_it_starts_then(home: Home) -> None:
    frozen = home.folder / "frozen"
    home.supervisor(frozen=str(frozen))
    (run,) = home.run(home.script("one").hang())
    home.until_status(run, "running")
    home.board.executions.stop(run.id)
    # Nobody waits for it meanwhile.
    (other,) = home.run(home.script("two"))
    assert home.ended([other])[0].status == "completed"
    assert home.show(run).status == "running"
    os.kill(int(frozen.read_text()), signal.SIGCONT)
    (ended,) = home.ended([run])
    assert (ended.status, ended.survivors) == ("cancelled", ())
    assert home.alive() == []


def test_stop_of_a_claimed_run_whose_supervisor_died_starts_nothing(either_home: Home) -> None:
    home = either_home
    kill = {"at": "kumihimo.supervisor.starter:Starter._launch", "when": "before"}
    (run,) = home.run(home.script("one").hang())
    assert home.supervisor(kill).wait(60) == -9
    home.board.executions.stop(run.id)
    home.supervisor()
    assert home.ended([run])[0].status == "cancelled"
    assert home.records("start") == []


def test_to_stop_twice_is_to_stop_once(home: Home) -> None:
    home.supervisor(patience=1.0)
    run = at_work(home, home.script("one").child(ignore_term=True), 2)
    home.board.executions.stop(run.id)
    home.board.executions.stop(run.id)
    (ended,) = home.ended([run])
    assert home.board.executions.stop(run.id) == ended
    assert (ended.status, ended.survivors) == ("cancelled", ())


def test_what_an_agent_leaves_behind_at_its_own_end_is_ended(home: Home, bystander: Bystander) -> None:
    home.supervisor()
    (run,) = home.run(home.script("one").child().daemon(ignore_term=True))
    (ended,) = home.ended([run])
    assert ended.status == "completed"
    until(lambda: not home.alive(), "the end of what it left")
    assert bystander.was_left_alone


def test_a_run_whose_time_is_up_is_timed_out(home: Home) -> None:
    home.supervisor()
    (run,) = home.run(home.script("one").say("hello").child().hang(), timeout_ms=300)
    (ended,) = home.ended([run])
    assert (ended.status, ended.failure_reason) == ("timed_out", "timed_out")
    assert (ended.exit_code, ended.signal, ended.survivors) == (143, "SIGTERM", ())
    assert home.alive() == []


def test_a_run_that_is_silent_for_too_long_is_timed_out_as_idle(make_home: MakeHome) -> None:
    home = make_home(settings=["silence_timeout_ms = 1500"])
    home.supervisor()
    talks, hangs = home.run(home.script("talks").lines(60, every=0.05), home.script("hangs").say("hello").hang())
    done, idle = home.ended([talks, hangs])
    assert done.status == "completed"
    assert (idle.status, idle.failure_reason, idle.exit_code, idle.signal) == ("timed_out", "idle", 143, "SIGTERM")


def test_a_time_that_is_up_while_no_supervisor_is_there_is_seen_by_the_next(either_home: Home) -> None:
    home = either_home
    first = home.supervisor()
    (run,) = home.run(home.script("one").hang(), timeout_ms=1_000)
    home.until_records("start", 1)
    home.kill(first)
    home.supervisor()
    assert home.ended([run])[0].failure_reason == "timed_out"
    assert len(home.records("start")) == 1


def test_the_folder_of_a_run_that_is_gone_is_a_failed_start(home: Home) -> None:
    (run,) = home.run(home.script("one"))
    os.rename(home.project_folder, home.folder / "moved")  # noqa: PTH104 - said as the user would
    (home.folder / "elsewhere").mkdir()
    home.project_folder = home.folder / "elsewhere"
    home.supervisor()
    (ended,) = home.ended([run])
    assert (ended.status, ended.failure_reason) == ("failed", "spawn_failed")
    assert home.records("start") == []
