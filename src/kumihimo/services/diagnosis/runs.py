"""Runs: those that nobody follows, and processes of those that are over."""

from __future__ import annotations

import signal
import time

from kumihimo.domain.errors import ExecutionNotFound, StartFailed
from kumihimo.domain.finding import Finding
from kumihimo.domain.session import Process
from kumihimo.engine.processes import identity, tree
from kumihimo.services.board import Board
from kumihimo.services.diagnosis.examination import Examination
from kumihimo.services.hosting import ensure, find_running
from kumihimo.services.hosts import LEASE

_PATIENCE_SECONDS = 2.0


def look_at_runs(examination: Examination, board: Board) -> Finding:
    """What waits or is under way needs a host process, here or elsewhere."""
    counts = board.executions.counts()
    waiting = sum(counts.get(status, 0) for status in ("queued", "starting", "running"))
    ours = find_running(examination.settings.state_folder)
    if not waiting or ours is not None or board.hosts.alive():
        return examination.ok("runs", "runs", count=waiting)
    if not examination.fix:
        return examination.warning("runs", "runs_unattended", count=waiting)
    try:
        started = ensure(examination.settings)
    except StartFailed as error:
        return examination.refused("runs", "warning", error)
    return examination.mended("runs", "runs_attended", count=waiting, url=started.url)


def look_at_waiting(examination: Examination, board: Board) -> list[Finding]:
    """What waits although hosts are there, because none of them has what it needs."""
    hosts = board.hosts.alive()
    long = board.executions.waiting_since(LEASE) if hosts else []
    stuck = [run for run in long if not any(host.suits(run) for host in hosts)]
    if not stuck:
        return []
    run = stuck[0]
    facts = {
        "count": len(stuck),
        "run": run.id,
        "client": run.client,
        "pin": run.host or "-",
        "project": run.project_id or "-",
    }
    return [examination.warning("runs", "runs_nowhere", **facts)]


def look_at_orphans(examination: Examination, board: Board) -> Finding:
    """A run that is over leaves no process. What a killed host process could not end any more is found by its mark."""
    found = [process for run, processes in tree.marked().items() if _is_over(board, run) for process in processes]
    if not found:
        return examination.ok("orphans", "orphans")
    if not examination.fix:
        return examination.warning("orphans", "orphans_found", pids=_pids(found))
    for number in (signal.SIGTERM, signal.SIGKILL):
        tree.send(found, number)
        if not (left := _left(found)):
            return examination.mended("orphans", "orphans_ended", pids=_pids(found))
        found = left
    return examination.warning("orphans", "orphans_survive", pids=_pids(found))


def _is_over(board: Board, run: str) -> bool:
    try:
        return not board.executions.show(run).live
    except ExecutionNotFound:
        # Of another board, or an instance of a Runner, who looks after it.
        return False


def _left(processes: list[Process]) -> list[Process]:
    """Those that still live after a moment."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while left := [process for process in processes if not identity.proven_dead(process)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return left


def _pids(processes: list[Process]) -> str:
    return ",".join(str(process.pid) for process in processes)
