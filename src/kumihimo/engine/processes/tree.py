"""The processes of one run: found by who their parents are and by the mark in their environment, and signalled safely.

A signal goes to a process that is proven to be the one that was found: it is held by a pidfd before it is looked at
again, so a pid that was given to somebody else in between is never hit.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path

from kumihimo.domain.session import Process
from kumihimo.engine.processes import identity
from kumihimo.engine.processes.wrapper import MARKER, NURSERY

_PROC = Path("/proc")


def of_run(run: str, wrapper: Process | None) -> list[Process]:
    """Every live process of a run but its wrapper: what descends from the wrapper, and what carries the run's mark."""
    return of_runs({run: wrapper})[run]


def of_runs(runs: dict[str, Process | None]) -> dict[str, list[Process]]:
    """The same for many runs in one look at the machine."""
    parents = _parents()
    alive = {run: wrapper for run, wrapper in runs.items() if wrapper and not identity.proven_dead(wrapper)}
    marked, nurseries = _marked(parents, set(runs))
    foreign = nurseries | {os.getpid()}
    descendants = {run: _below(wrapper.pid, parents, foreign) for run, wrapper in alive.items()}
    found: dict[str, list[Process]] = {}
    for run, wrapper in runs.items():
        pids = (descendants.get(run, set()) | marked.get(run, set())) - {wrapper.pid if wrapper else 0, os.getpid()}
        found[run] = [process for pid in sorted(pids) if (process := identity.of(pid)) is not None]
    return found


def marked() -> dict[str, list[Process]]:
    """Every live process that carries the mark of a run, by the run: also of runs that are over or of another home."""
    if not _PROC.is_dir():
        return {}
    found, _ = _marked(_parents(), None)
    alive = {
        run: [process for pid in sorted(pids - {os.getpid()}) if (process := identity.of(pid)) is not None]
        for run, pids in found.items()
    }
    return {run: processes for run, processes in alive.items() if processes}


def send(processes: Iterable[Process], number: signal.Signals) -> None:
    """A signal to each of them that is still itself."""
    for process in processes:
        _send(process, number)


def _send(process: Process, number: signal.Signals) -> None:
    try:
        held = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if identity.of(process.pid) == process:
            signal.pidfd_send_signal(held, number)
    except ProcessLookupError:
        # It ended while we looked.
        return
    finally:
        os.close(held)


def _parents() -> dict[int, int]:
    """The parent of every process."""
    found: dict[int, int] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
            except OSError:
                continue
            found[int(entry.name)] = int(stat[stat.rindex(b")") + 2 :].split(None, 2)[1])
    return found


def _below(pid: int, parents: dict[int, int], foreign: set[int]) -> set[int]:
    """What descends from a process, but not through a host process that an agent started: what that runs is not the agent's."""
    children: dict[int, list[int]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found and child not in foreign:
                found.add(child)
                waiting.append(child)
    return found


def _marked(pids: Iterable[int], runs: set[str] | None) -> tuple[dict[str, set[int]], set[int]]:
    """Which processes carry the mark of which of these runs, or of any; and which are of a nursery."""
    mark = f"{MARKER}=".encode()
    nursery = f"{NURSERY}=".encode()
    found: dict[str, set[int]] = {}
    nurseries: set[int] = set()
    for pid in pids:
        try:
            environment = (_PROC / str(pid) / "environ").read_bytes()
        except OSError:
            continue
        if nursery in environment:
            nurseries.add(pid)
        if mark not in environment:
            continue
        for word in environment.split(b"\0"):
            if not word.startswith(mark):
                continue
            run = word[len(mark) :].decode("utf-8", "replace")
            if runs is None or run in runs:
                found.setdefault(run, set()).add(pid)
    return found, nurseries
