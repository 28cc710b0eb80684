"""Finishing: how a run ended, decided by what is known of it and by nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from kumihimo.domain.execution import Execution
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
        self._parked = False

    def has_parked(self) -> bool:
        """Whether a client has to wait that had not when this was last asked."""
        parked, self._parked = self._parked, False
        return parked

    def finish(self, gone: list[WatchedRun]) -> list[WatchedRun]:
        """The wrappers that were followed are gone. Answers those that are over; the others go on under another wrapper.

        One transaction for all of them: who ends together need not wait for one another.
        """
        over = [run for run in gone if not self._another_has_it(run)]
        ends = [(run, self._ending(run)) for run in over]

        def write(_: object) -> None:
            for run, end in ends:
                self._write(run, end)

        self._board.store.write(write)
        for run in gone:
            if run not in over:
                self._watch(run)
        return over

    def _ending(self, run: WatchedRun) -> Callable[[Execution], object]:
        """Everything that is to be known of a run's end, looked up before it is written."""
        run.follow(final=True)
        self._leftovers.expect(run.id)
        ended = run.folder.ended()
        # Also where nobody asks: by this, secrets are struck out of what it wrote to stderr.
        errors = run.errors()
        verdict = run.judge(ended, errors) if ended else None
        return lambda execution: self._end(run, execution, ended, verdict)

    def give_up(self, run: WatchedRun, survivors: list[int]) -> None:
        """It was stopped, and something of it would not die."""
        run.follow()
        run.errors()

        def write(_: object) -> None:
            self._write(run, lambda execution: self._stopped(execution, None, survivors=tuple(survivors)))

        self._board.store.write(write)

    def _another_has_it(self, run: WatchedRun) -> bool:
        """A shell of a supervisor that died may have been told to start it as well, and have been faster."""
        return run.wrapper() is not None

    def _write(self, run: WatchedRun, end: Callable[[Execution], object]) -> None:
        """The end and the last observation, inside a transaction. Somebody else's run by now is not ours to end.

        It may have to be done again, so it goes by what is written and changes nothing of the run in memory.
        """
        runs = self._board.executions
        execution = runs.show(run.id)
        if execution.fence != run.execution.fence:
            return
        if not execution.live:
            self._come_back(run, execution)
            return
        runs.observe([run.observation])
        if execution.status == "starting":
            execution = runs.start(execution.id, execution.fence, **run.beginning)
        end(execution)

    def _come_back(self, run: WatchedRun, execution: Execution) -> None:
        """It was given up while we were away. What we know of it is kept beside what was decided."""
        ended = run.folder.ended()
        if execution.status != "lost" or ended is None:
            return
        verdict = run.judge(ended, run.errors())
        self._board.executions.observe([run.observation])
        facts: dict[str, Any] = {"exit_code": ended.code, "signal": ended.signal}
        # Perhaps it was given up before anybody could write down that it had started, and where it prints.
        self._board.executions.come_back(
            run.id, str(run.folder.out), reason=verdict.reason, message=verdict.message, **facts
        )

    def _end(self, run: WatchedRun, execution: Execution, ended: Ended | None, verdict: Verdict | None) -> None:
        if execution.stopping is not None and _by_our_hand(run, verdict):
            self._stopped(execution, ended)
        elif ended is None or verdict is None:
            self._vanished(run, execution)
        else:
            self._judged(execution, ended, verdict)

    def _stopped(self, execution: Execution, ended: Ended | None, **facts: Any) -> None:
        runs = self._board.executions
        facts.update(exit_code=ended.code if ended else None, signal=ended.signal if ended else None)
        if execution.stopping in ("timed_out", "idle"):
            runs.time_out(execution.id, execution.fence, execution.stopping, **facts)
        else:
            runs.cancel(execution.id, execution.fence, **facts)

    def _vanished(self, run: WatchedRun, execution: Execution) -> None:
        runs = self._board.executions
        if run.folder.was_started:
            runs.lose(execution.id, execution.fence, error="its wrapper ended without saying how the agent did")
        else:
            runs.fail(
                execution.id,
                execution.fence,
                "spawn_failed",
                error=f"the agent could not be started in {execution.working_directory}",
            )

    def _judged(self, execution: Execution, ended: Ended, verdict: Verdict) -> None:
        runs = self._board.executions
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
            self._parked = True


def _by_our_hand(run: WatchedRun, verdict: Verdict | None) -> bool:
    """Whether a run that was to be stopped ended by that. Where another supervisor had begun to stop it, a success is its own."""
    return run.stopping_since is not None or (verdict is not None and verdict.reason is not None)
