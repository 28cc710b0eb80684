"""Finishing: how a run ended, decided by what is known of it and by nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from kumihimo.domain.errors import StaleFence
from kumihimo.engine.agents.client import Verdict
from kumihimo.engine.processes.wrapper import Ended
from kumihimo.services.board import Board
from kumihimo.supervisor.leftovers import Leftovers
from kumihimo.supervisor.watched_run import WatchedRun

_LONGEST = 4_000


class Finisher:
    def __init__(self, board: Board, leftovers: Leftovers, watch: Callable[[WatchedRun], None]) -> None:
        self._board = board
        self._leftovers = leftovers
        self._watch = watch

    def finish(self, run: WatchedRun) -> bool:
        """The wrapper that was followed is gone. False where the run goes on under another one."""
        if self._another_has_it(run):
            self._watch(run)
            return False
        run.follow(final=True)
        self._leftovers.expect(run.id)
        ended = run.folder.ended()
        self._write(run, lambda: self._end(run, ended))
        return True

    def give_up(self, run: WatchedRun, survivors: list[int]) -> None:
        """It was stopped, and something of it would not die."""
        run.follow()
        self._write(run, lambda: self._stopped(run, None, survivors=tuple(survivors)))

    def _another_has_it(self, run: WatchedRun) -> bool:
        """A shell of a supervisor that died may have been told to start it as well, and have been faster."""
        return run.wrapper() is not None

    def _write(self, run: WatchedRun, end: Callable[[], object]) -> None:
        """The end and the last observation, in one transaction. Somebody else's run by now is not ours to end."""

        def write(_: object) -> None:
            self._board.executions.observe([run.observation])
            if run.execution.status == "starting":
                execution = run.execution
                run.execution = self._board.executions.start(
                    execution.id, execution.fence, log_path=str(run.folder.out)
                )
            end()

        try:
            self._board.store.write(write)
        except StaleFence:
            return

    def _end(self, run: WatchedRun, ended: Ended | None) -> None:
        execution = self._board.executions.show(run.id)
        if not execution.live:
            return
        run.execution = execution
        if execution.stopping is not None and run.stopping_since is not None:
            self._stopped(run, ended)
        elif ended is None:
            self._vanished(run)
        else:
            self._judged(run, ended, run.judge(ended))

    def _stopped(self, run: WatchedRun, ended: Ended | None, **facts: Any) -> None:
        execution, runs = run.execution, self._board.executions
        facts.update(exit_code=ended.code if ended else None, signal=ended.signal if ended else None)
        if execution.stopping in ("timed_out", "idle"):
            runs.time_out(execution.id, execution.fence, execution.stopping, **facts)
        else:
            runs.cancel(execution.id, execution.fence, **facts)

    def _vanished(self, run: WatchedRun) -> None:
        execution, runs = run.execution, self._board.executions
        if run.folder.was_started:
            runs.lose(execution.id, execution.fence, error="its wrapper ended without saying how the agent did")
        else:
            runs.fail(
                execution.id,
                execution.fence,
                "spawn_failed",
                error=f"the agent could not be started in {execution.working_directory}",
            )

    def _judged(self, run: WatchedRun, ended: Ended, verdict: Verdict) -> None:
        execution, runs = run.execution, self._board.executions
        facts: dict[str, Any] = {"exit_code": ended.code, "signal": ended.signal}
        if verdict.reason is None:
            runs.complete(execution.id, execution.fence, **facts)
            return
        facts["error"] = (verdict.message or "")[:_LONGEST] or None
        runs.fail(execution.id, execution.fence, verdict.reason, **facts)
        if verdict.reason == "rate_limited":
            self._park(execution.client, verdict)

    def _park(self, client: str, verdict: Verdict) -> None:
        """Only where the end of the limit was told: an unknown one stays unknown."""
        until = verdict.reset_at
        if until is None and verdict.reset_after is not None:
            until = self._board.clock() + timedelta(seconds=verdict.reset_after)
        if until is not None and until > self._board.clock():
            self._board.hosts.park(client, until, verdict.message or "rate limited")
