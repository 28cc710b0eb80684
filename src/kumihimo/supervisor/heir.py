"""The heir: what this home had begun when its supervisor ended, for the one that comes next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Usage
from kumihimo.services.board import Board
from kumihimo.supervisor.launcher import Launcher, SpawnFailed
from kumihimo.supervisor.watched_run import WatchedRun


class Heir:
    """`usage_before` is what the conversation of a run had used before it."""

    def __init__(
        self, board: Board, launcher: Launcher, host_id: str, usage_before: Callable[[Execution], Usage]
    ) -> None:
        self._board = board
        self._launcher = launcher
        self._host_id = host_id
        self._usage_before = usage_before

    def inherit(self, known: Collection[str]) -> Iterator[WatchedRun | Execution]:
        """Everything that this home has claimed and not ended, but what is known: what runs is to be followed, what never
        started is to be launched."""
        yield from self._given_up(known)
        for run in self._board.hosts.owned(self._host_id):
            if run.id in known:
                continue
            folder = self._launcher.folder_of(run.id)
            if run.status == "starting" and run.stopping is None and not folder.was_started:
                # Claimed, and then we died. Not given back: a shell that was told may yet start it, and only here is that known.
                yield run
            elif not folder.forbid():
                yield from self._adopted(run)
            elif run.status == "starting":
                self._board.executions.cancel(run.id, run.fence)
            else:
                self._board.executions.lose(run.id, run.fence, error="its folder is gone")

    def _given_up(self, known: Collection[str]) -> Iterator[WatchedRun]:
        """What was given up while we were away: its agents may live yet, or have ended in peace."""
        for run in self._board.executions.lost_of(self._host_id):
            if run.id not in known and self._launcher.folder_of(run.id).was_started:
                with suppress(SpawnFailed, OSError):
                    # What can't be found any more stays as it is: lost.
                    yield self._launcher.take_over(run, self._usage_before(run))

    def _adopted(self, run: Execution) -> Iterator[WatchedRun]:
        if run.status == "starting":
            run = self._board.executions.start(run.id, run.fence, log_path=str(self._launcher.folder_of(run.id).out))
        try:
            yield self._launcher.take_over(run, self._usage_before(run))
        except (SpawnFailed, OSError) as error:
            self._board.executions.lose(run.id, run.fence, error=str(error)[:2_000])
