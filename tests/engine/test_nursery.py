"""Shells that are kept ready."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kumihimo.engine.processes import identity
from kumihimo.engine.processes.nursery import Nursery, Shell
from kumihimo.engine.processes.wrapper import RunFolder, script

NURSE = Path(identity.__file__).with_name("nurse.py")


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery(3)
    yield made
    made.close()


def ended(shell: Shell) -> None:
    assert select.select([shell.pidfd], [], [], 20)[0], "it should have ended"
    os.close(shell.pidfd)


def test_a_shell_runs_what_it_is_told_with_its_folder_and_environment(nursery: Nursery, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare("the prompt\n")
    told = script(
        folder, ["/bin/sh", "-c", 'cat; pwd; echo "$WORD"; umask; exit 7'], {"WORD": "it's 'quoted' \"$x\""}, tmp_path
    )
    ended(nursery.launch(told))
    assert folder.out.read_text().splitlines()[:3] == ["the prompt", str(tmp_path), "it's 'quoted' \"$x\""]
    mask = os.umask(0)
    os.umask(mask)
    assert int(folder.out.read_text().splitlines()[3], 8) == mask, "the agent has the mask of the user, not ours"
    assert {oct(path.stat().st_mode & 0o777) for path in (folder.out, folder.err)} == {"0o600"}
    found = folder.ended()
    assert found is not None
    assert (found.code, found.signal) == (7, None)


def test_what_was_started_once_is_never_started_again(nursery: Nursery, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare("")
    told = script(folder, ["/bin/sh", "-c", f"echo once >> {tmp_path}/count"], {}, tmp_path)
    for _ in range(4):
        ended(nursery.launch(told))
    assert (tmp_path / "count").read_text() == "once\n"


def test_of_all_who_are_told_at_once_one_starts_the_agent_or_it_is_forbidden(nursery: Nursery, tmp_path: Path) -> None:
    for number in range(10):
        folder, count = RunFolder(tmp_path / str(number)), tmp_path / f"count{number}"
        folder.prepare("")
        count.touch()
        told = script(folder, ["/bin/sh", "-c", f"echo once >> {count}"], {}, tmp_path)
        shells = [nursery.launch(told) for _ in range(3)]
        forbidden = folder.forbid()
        for shell in shells:
            ended(shell)
        assert count.read_text() == ("" if forbidden else "once\n")
        assert folder.forbid() == forbidden, "what was decided stays so"


def test_a_shell_that_is_told_only_half_does_nothing(nursery: Nursery, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare("")
    whole = script(folder, ["/bin/sh", "-c", f"touch {tmp_path}/done"], {"WORD": "x" * 300}, tmp_path)
    for length in range(0, len(whole) - 4, 37):
        ended(nursery.launch(whole[:length]))
    assert not folder.was_started
    assert not (tmp_path / "done").exists()


def test_a_nurse_that_is_killed_is_replaced(nursery: Nursery, tmp_path: Path) -> None:
    nursery.refill()
    nurse = nursery._nurse
    assert nurse is not None
    nurse.send_signal(signal.SIGKILL)
    nurse.wait()
    for number in range(5):
        folder = RunFolder(tmp_path / str(number))
        folder.prepare("")
        ended(nursery.launch(script(folder, ["true"], {}, tmp_path)))
        assert folder.ended() is not None


def test_shells_that_were_never_told_anything_end_with_the_nursery(tmp_path: Path) -> None:
    made = Nursery(3)
    made.refill()
    folder = RunFolder(tmp_path / "run")
    folder.prepare("")
    ended(made.launch(script(folder, ["true"], {}, tmp_path)))
    made.refill()
    made._receive(10.0)
    waiting = [identity.of(shell.pid) for shell in made._ready]
    held = [os.pidfd_open(shell.pid) for shell in made._ready]
    assert waiting
    made.close()
    for pidfd in held:
        assert select.select([pidfd], [], [], 20)[0]
        os.close(pidfd)


def test_an_exit_code_that_only_looks_like_a_signal_is_none(nursery: Nursery, tmp_path: Path) -> None:
    for number, (command, signal_name) in enumerate(
        [("exit 145", None), ("exit 173", None), ("kill -9 $$", "SIGKILL"), ("kill -15 $$", "SIGTERM")]
    ):
        folder = RunFolder(tmp_path / str(number))
        folder.prepare("")
        ended(nursery.launch(script(folder, ["/bin/sh", "-c", command], {}, tmp_path)))
        found = folder.ended()
        assert found is not None
        assert found.signal == signal_name, command


def test_a_nurse_whose_employer_goes_while_it_is_at_work_ends_in_silence() -> None:
    """What it says on its error output would stand in the log of the host."""
    for _ in range(20):
        ours, theirs = socket.socketpair()
        ours.send(b"." * 20)
        nurse = subprocess.Popen(
            [sys.executable, "-I", "-S", str(NURSE), str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs.close()
        # The first shell is there: with more to come, its employer is gone.
        _, pipes, _, _ = socket.recv_fds(ours, 64, 1)
        ours.close()
        for pipe in pipes:
            os.close(pipe)
        assert nurse.communicate(timeout=30)[1] == b""
        assert nurse.returncode == 0


def test_folders_are_kept_ready_and_become_those_of_runs(tmp_path: Path) -> None:
    nursery, runs = Nursery(2, tmp_path / "cots"), tmp_path / "runs"
    runs.mkdir()
    assert not nursery.furnish(runs / "none"), "nobody has asked for any yet"
    try:
        nursery.refill()
        shells = [RunFolder(runs / name) for name in ("one", "two")]
        for folder in shells:
            # With the shell comes its folder: whoever has launched one has had the other.
            ended(nursery.launch(b"exit 0\n"))
            assert nursery.furnish(folder.path)
            assert sorted(path.name for path in folder.path.iterdir()) == ["err", "exit", "in", "out", "started"]
            assert {oct(path.stat().st_mode & 0o777) for path in folder.path.iterdir()} == {"0o600"}
            assert oct(folder.path.stat().st_mode & 0o777) == "0o700"
        folder = shells[0]
        folder.prepare("the prompt\n")
        ended(nursery.launch(script(folder, ["/bin/cat"], {}, tmp_path)))
        assert folder.out.read_text() == "the prompt\n"
    finally:
        nursery.close()
    assert list((tmp_path / "cots").iterdir()) == [], "what nobody took is cleared away"


def test_a_folder_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    nursery, folder = Nursery(1, tmp_path / "cots"), RunFolder(tmp_path / "run")
    folder.prepare("what was there")
    try:
        ended(nursery.launch(b"exit 0\n"))
        assert not nursery.furnish(folder.path)
        assert (folder.path / "in").read_text() == "what was there"
        assert nursery.furnish(tmp_path / "other"), "it is kept for the next"
        assert not nursery.furnish(tmp_path / "nowhere" / "run")
    finally:
        nursery.close()


def test_what_a_killed_nurse_left_is_cleared_away_by_the_next(tmp_path: Path) -> None:
    cots = tmp_path / "cots"
    (cots / "999999999" / "1").mkdir(parents=True)
    (cots / "999999999" / "1" / "in").touch()
    nursery = Nursery(1, cots)
    try:
        ended(nursery.launch(b"exit 0\n"))
        (own,) = cots.iterdir()
        os.kill(int(own.name), signal.SIGKILL)
        for name in ("a", "b"):
            # The second shell is another nurse's.
            ended(nursery.launch(b"exit 0\n"))
            assert nursery.furnish(tmp_path / name)
        assert own not in list(cots.iterdir())
    finally:
        nursery.close()
    assert list(cots.iterdir()) == []


def test_where_no_folder_can_be_kept_ready_shells_come_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "cots").write_text("in the way")
    nursery = Nursery(1, tmp_path / "cots")
    try:
        ended(nursery.launch(b"exit 0\n"))
        assert not nursery.furnish(tmp_path / "run")
    finally:
        nursery.close()
