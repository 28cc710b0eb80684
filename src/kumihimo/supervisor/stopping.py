"""Stopping a run: TERM to everything that belongs to it, five seconds of patience, then KILL.

The wrapper is held still meanwhile, so that whatever is let loose becomes its child and is found. It goes on when all
others are gone, and writes down how the agent ended.
"""

from __future__ import annotations

import signal
import time

from kumihimo.domain.session import Process
from kumihimo.engine.processes import identity, tree
from kumihimo.supervisor.watched_run import WatchedRun

PATIENCE_SECONDS = 5.0
# How long the kernel may take to end what was killed. What is there after that would not die.
_LAST_SECONDS = 5.0


def begin(run: WatchedRun) -> None:
    run.stopping_since = time.monotonic()
    _hold(run)
    _look(run)


def go_on(run: WatchedRun) -> list[int] | None:
    """One step. None while it goes on; at its end the pids that would not die, normally none."""
    assert run.stopping_since is not None, "begun before"
    since = time.monotonic() - run.stopping_since
    patience = -1.0 if run.at_once else PATIENCE_SECONDS
    if run.unborn:
        # Its shell was told to start it and is about to: what it starts is ended then.
        if since > patience:
            run.kill_shell()
        return None
    alive = [process for process in run.known if identity.of(process.pid) == process]
    if not alive or (since > patience and not run.killed):
        # What is known is gone, or its time is up: look again for what came after.
        alive = _look(run)
    if alive and since > patience:
        run.killed = True
        tree.send(alive, signal.SIGKILL)
    if alive and since < patience + _LAST_SECONDS:
        return None
    wrapper = run.wrapper()
    if wrapper is not None:
        tree.send([wrapper], signal.SIGCONT)
    return [process.pid for process in alive]


def _hold(run: WatchedRun) -> None:
    wrapper = run.wrapper()
    if wrapper is not None:
        tree.send([wrapper], signal.SIGSTOP)


def _look(run: WatchedRun) -> list[Process]:
    """What there is of it now. Whoever came since the last look is told to end, as the others were."""
    found = tree.of_run(run.id, run.wrapper())
    fresh = [process for process in found if process not in run.known]
    if fresh:
        _hold(run)
        tree.send(fresh, signal.SIGTERM)
    run.known = found
    return found
