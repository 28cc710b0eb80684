"""A wrapper that was killed, a pid that is somebody else's by now, another boot: what is not known is lost, never completed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from kumihimo.domain.execution import Execution
from kumihimo.domain.session import Process
from kumihimo.engine.processes import identity

from .bystander import Bystander
from .home import Home
from .patience import until


def begin(home: Home, *, ends: bool) -> tuple[Execution, Process]:
    """A run at work, its supervisor killed; `ends`: and then the agent has ended, with 3."""
    gate = home.folder / "gate"
    supervisor = home.supervisor()
    (run,) = home.run(home.script("one").say("hello").wait(gate).ends(3))
    home.until_status(run, "running")
    home.until_records("start", 1)
    wrapper = until(home.run_folder(run).wrapper, "the wrapper")
    home.kill(supervisor)
    if ends:
        gate.touch()
        until(lambda: identity.proven_dead(wrapper), "the end of the wrapper")
    return run, wrapper


def rewrite(home: Home, run: Execution, *, boot: str | None = None, pid: int | None = None) -> None:
    """Somebody else's pid, or another boot, in the file that says who the wrapper is."""
    started = home.run_folder(run).path / "started"
    was_boot, was_pid, rest = started.read_text().split(" ", 2)
    started.write_text(f"{boot or was_boot} {pid or was_pid} {rest}")


def test_a_run_whose_wrapper_was_killed_is_lost_and_nothing_of_it_stays(home: Home) -> None:
    home.supervisor()
    (run,) = home.run(home.script("one").say("hello").child().daemon().hang())
    home.until_records("daemon", 1)
    wrapper = until(home.run_folder(run).wrapper, "the wrapper")
    os.kill(wrapper.pid, signal.SIGKILL)
    (ended,) = home.ended([run])
    assert (ended.status, ended.failure_reason, ended.exit_code) == ("lost", "lost", None)
    assert home.seen(run).lines == 3
    until(lambda: not home.alive(), "the end of what it left")


def test_a_wrapper_killed_while_nobody_looks_is_lost_as_well(home: Home) -> None:
    run, wrapper = begin(home, ends=False)
    os.kill(wrapper.pid, signal.SIGKILL)
    until(lambda: identity.proven_dead(wrapper), "the end of the wrapper")
    home.supervisor()
    (ended,) = home.ended([run])
    assert (ended.status, ended.exit_code) == ("lost", None)
    until(lambda: not home.alive(), "the end of what it left")


@pytest.mark.parametrize("own_session", [True, False])
def test_a_pid_that_was_given_to_somebody_else_is_never_signalled(
    home: Home, tmp_path: Path, own_session: bool
) -> None:
    with Bystander(tmp_path / "log", own_session=own_session) as innocent:
        run, wrapper = begin(home, ends=False)
        rewrite(home, run, pid=innocent.process.pid)
        # To stop it is when signals are sent.
        home.board.executions.stop(run.id)
        os.kill(wrapper.pid, signal.SIGKILL)
        home.supervisor()
        (ended,) = home.ended([run])
        assert ended.status == "lost"
        until(lambda: not home.alive(), "the end of the true agent")
        assert innocent.was_left_alone


def test_an_exit_that_was_written_counts_although_its_pid_is_somebody_elses(home: Home, bystander: Bystander) -> None:
    run, _ = begin(home, ends=True)
    rewrite(home, run, pid=bystander.process.pid)
    home.supervisor()
    (ended,) = home.ended([run])
    assert (ended.status, ended.exit_code) == ("failed", 3)
    assert bystander.was_left_alone


def test_after_another_boot_an_exit_that_was_written_is_the_outcome(home: Home) -> None:
    run, _ = begin(home, ends=True)
    rewrite(home, run, boot="00000000-0000-0000-0000-000000000000")
    home.supervisor()
    (ended,) = home.ended([run])
    assert (ended.status, ended.exit_code, home.seen(run).lines) == ("failed", 3, 4)


def test_after_another_boot_a_run_without_an_exit_is_lost(home: Home, bystander: Bystander) -> None:
    run, wrapper = begin(home, ends=False)
    os.kill(wrapper.pid, signal.SIGKILL)
    rewrite(home, run, boot="00000000-0000-0000-0000-000000000000", pid=bystander.process.pid)
    home.supervisor()
    (ended,) = home.ended([run])
    assert (ended.status, ended.exit_code) == ("lost", None)
    assert bystander.was_left_alone


@pytest.mark.parametrize("text", ["", "nonsense", "boot 12", "boot 12 (sh) S", "boot 12 (sh", "a b c d"])
def test_a_file_that_says_nothing_of_the_wrapper_is_no_wrapper(home: Home, text: str) -> None:
    run, wrapper = begin(home, ends=False)
    os.kill(wrapper.pid, signal.SIGKILL)
    (home.run_folder(run).path / "started").write_text(text)
    home.supervisor()
    assert home.ended([run])[0].status == "lost"


@pytest.mark.parametrize("text", ["", "7", "seven\n", "\xff"])
def test_an_exit_that_was_written_by_halves_is_not_known(home: Home, text: str) -> None:
    run, wrapper = begin(home, ends=False)
    os.kill(wrapper.pid, signal.SIGKILL)
    (home.run_folder(run).path / "exit").write_text(text, "latin-1")
    home.supervisor()
    assert home.ended([run])[0].status == "lost"


def test_a_run_whose_folder_was_removed_is_lost_and_starts_no_more(home: Home) -> None:
    run, wrapper = begin(home, ends=False)
    os.kill(wrapper.pid, signal.SIGKILL)
    home.run_folder(run).path.rename(home.folder / "away")
    home.supervisor()
    assert home.ended([run])[0].status == "lost"
    assert len(home.records("start")) == 1
