"""Ending what belongs to an instance: TERM to all of it, some patience, then KILL until nothing is left."""

from __future__ import annotations

import signal

from kumihimo.domain.session import Process
from kumihimo.engine.processes import identity, tree
from kumihimo.runner.clock import Clock

PATIENCE_SECONDS = 5.0
_LOOK_SECONDS = 0.1


async def end_all(instance_id: str, wrapper: Process | None, clock: Clock) -> list[int]:
    """The pids that would not die, normally none. The wrapper is held meanwhile, so that what is let loose is found; then it
    goes on, and writes down how its agent ended."""
    if wrapper is not None:
        tree.send([wrapper], signal.SIGSTOP)
    try:
        return await _end(instance_id, wrapper, clock)
    finally:
        if wrapper is not None:
            tree.send([wrapper], signal.SIGCONT)


async def _end(instance_id: str, wrapper: Process | None, clock: Clock) -> list[int]:
    asked: set[Process] = set()
    alive: list[Process] = []
    for look in range(int(2 * PATIENCE_SECONDS / _LOOK_SECONDS)):
        alive = tree.of_run(instance_id, wrapper)
        if not alive:
            return []
        patient = look < PATIENCE_SECONDS / _LOOK_SECONDS
        # Whoever came since the last look is told to end as the others were.
        tree.send(
            [one for one in alive if one not in asked] if patient else alive,
            signal.SIGTERM if patient else signal.SIGKILL,
        )
        asked.update(alive)
        await clock.sleep(_LOOK_SECONDS)
    return [process.pid for process in alive if not identity.proven_dead(process)]
