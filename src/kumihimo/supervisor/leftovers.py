"""Leftovers: what a run leaves behind when its agent has ended. A run that is over is over, so they are ended as well."""

from __future__ import annotations

import signal
import time

from kumihimo.engine.processes import tree

# All runs that ended within this time are looked for together: one look at the machine takes some milliseconds.
_GATHER_SECONDS = 1.0
_PATIENCE_SECONDS = 2.0


class Leftovers:
    def __init__(self) -> None:
        self._runs: dict[str, float] = {}
        self._look_at = 0.0
        self._kill_at: dict[str, float] = {}

    @property
    def due(self) -> float:
        """When to look, by the clock that never jumps; far away where there is nothing to look for."""
        looks = [self._look_at] if self._runs else []
        return min([float("inf"), *looks, *self._kill_at.values()])

    def expect(self, run: str) -> None:
        """The agent of this run has ended."""
        now = time.monotonic()
        if not self._runs:
            self._look_at = now + _GATHER_SECONDS
        self._runs[run] = now

    def look(self) -> None:
        now = time.monotonic()
        if self._runs and now >= self._look_at:
            found = tree.of_runs(dict.fromkeys(self._runs))
            self._runs.clear()
            for run, processes in found.items():
                if processes:
                    tree.send(processes, signal.SIGTERM)
                    self._kill_at[run] = now + _PATIENCE_SECONDS
        due = [run for run, at in self._kill_at.items() if now >= at]
        if due:
            for processes in tree.of_runs(dict.fromkeys(due)).values():
                tree.send(processes, signal.SIGKILL)
            for run in due:
                del self._kill_at[run]
