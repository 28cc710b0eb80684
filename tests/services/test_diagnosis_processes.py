"""The doctor: host processes that hang or were killed, ports, and processes of runs that are over."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from kumihimo.domain.session import Process
from kumihimo.engine.processes import identity
from kumihimo.engine.processes.wrapper import MARKER
from kumihimo.services.diagnosis import host_process
from kumihimo.services.diagnosis.host_process import look_at_host
from kumihimo.services.diagnosis.runs import look_at_orphans, look_at_runs, look_at_waiting
from kumihimo.services.hosting import FILE, LAST_PORT, LOCK, Running, bury, find_running
from kumihimo.services.wish import Wish
from tests.services.clinic import Clinic

# Listens, and says nothing to anybody.
_DEAF = """
import signal, socket, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[1] == "stubborn" else signal.SIG_DFL)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
signal.pause()
"""


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clinic]:
    made = Clinic(tmp_path)
    monkeypatch.setenv("KUMI_HOME", str(made.home))
    made.home.mkdir(mode=0o700)
    yield made
    made.close()


def left_running(clinic: Clinic, process: Process, port: int) -> None:
    (clinic.home / FILE).write_bytes(msgspec.json.encode(Running(f"http://127.0.0.1:{port}", port, process)))
    (clinic.home / LOCK).touch()


def started(*command: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **environment})


def test_what_a_killed_host_process_left_is_told_and_removed(clinic: Clinic) -> None:
    left_running(clinic, Process(identity.host(), identity.boot_id(), 2**22 - 3, 7), 9)
    found = look_at_host(clinic.examination())[0]
    assert (found.name, found.verdict) == ("host", "warning")
    assert look_at_host(clinic.examination(fix=True))[0].mended
    assert not (clinic.home / FILE).exists()
    assert look_at_host(clinic.examination())[0].verdict == "ok"


@pytest.mark.parametrize("temper", ["meek", "stubborn"])
def test_a_host_process_that_does_not_answer_is_told_and_ended(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch, temper: str
) -> None:
    monkeypatch.setattr(host_process, "_ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(host_process, "_END_SECONDS", 0.5 if temper == "stubborn" else 20.0)
    deaf = started(sys.executable, "-c", _DEAF, temper)
    assert deaf.stdout is not None
    port = int(deaf.stdout.readline())
    process = identity.of(deaf.pid)
    assert process is not None
    left_running(clinic, process, port)
    assert look_at_host(clinic.examination())[0].verdict == "warning"
    assert deaf.poll() is None
    assert look_at_host(clinic.examination(fix=True))[0].mended
    assert deaf.wait(20) in (-15, -9)
    deaf.stdout.close()


def test_a_lock_that_somebody_holds_in_silence_is_told_with_its_pid(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_process, "_BEGIN_SECONDS", 0.0)
    with (clinic.home / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = look_at_host(clinic.examination(fix=True))[0]
    assert found.verdict == "warning"
    assert f"pid {os.getpid()}" in found.detail


def test_a_port_that_somebody_else_has_is_told(clinic: Clinic) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (clinic.home / LAST_PORT).write_text(str(port))
        found = {finding.name: finding for finding in look_at_host(clinic.examination())}["port"]
        assert found.verdict == "warning"
        assert str(port) in found.detail
    assert {finding.name: finding.verdict for finding in look_at_host(clinic.examination())}["port"] == "ok"


def test_processes_of_runs_that_are_over_are_ended_and_no_others(clinic: Clinic) -> None:
    board = clinic.board()
    over = clinic.run(board, over=True)
    live = clinic.run(board, over=False)
    orphan, worker, foreign = (
        started("sleep", "300", **{MARKER: run}) for run in (over.id, live.id, "exec_of_another_home")
    )
    try:
        found = look_at_orphans(clinic.examination(), board)
        assert (found.name, found.verdict) == ("orphans", "warning")
        assert str(orphan.pid) in found.detail
        assert look_at_orphans(clinic.examination(fix=True), board).mended
        assert orphan.wait(20) == -15
        assert (worker.poll(), foreign.poll()) == (None, None)
        assert look_at_orphans(clinic.examination(), board).verdict == "ok"
    finally:
        for process in (orphan, worker, foreign):
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def test_runs_that_nobody_follows_are_told(clinic: Clinic) -> None:
    board = clinic.board()
    clinic.run(board, over=False)
    found = look_at_runs(clinic.examination(), board)
    assert (found.name, found.verdict) == ("runs", "warning")
    assert "kumi up" in found.detail


def test_runs_that_nobody_follows_are_given_a_host_process(clinic: Clinic) -> None:
    board = clinic.board()
    clinic.run(board, over=False)
    try:
        assert look_at_runs(clinic.examination(fix=True), board).mended
        assert find_running(clinic.home) is not None
    finally:
        running = find_running(clinic.home)
        if running is not None:
            os.kill(running.process.pid, signal.SIGTERM)
            bury(clinic.home)


def test_runs_that_wait_for_what_no_host_has_are_told(clinic: Clinic) -> None:
    board = clinic.board()
    made = board.projects.init(str(clinic.folder), git=False)
    day = timedelta(days=1)
    board.hosts.renew("host_away", "forge", 5, timedelta(seconds=-1))
    board.hosts.renew("host_here", "here", 5, day, clients=("codex",), projects=(made.project.id,))
    wish = Wish(made.agents[0], "group", "work", project_id=made.project.id, client="codex", host="forge")
    run = board.executions.enqueue(wish)
    assert run is not None
    examination = clinic.examination()
    # It has not waited for long: somebody may be about to come.
    assert look_at_waiting(examination, board) == []
    board.store.write(lambda it: it.connection.execute("UPDATE executions SET queued_at = 1"))
    (found,) = look_at_waiting(examination, board)
    assert (found.name, found.verdict) == ("runs", "warning")
    assert run.id in found.detail
    assert "forge" in found.detail
    board.hosts.renew("host_away", "forge", 5, day, clients=("codex",), projects=(made.project.id,))
    assert look_at_waiting(examination, board) == []
