"""Starts: what was launched is running, as the board has it."""

from __future__ import annotations

from kumihimo.domain.errors import IllegalTransition, StaleFence
from kumihimo.domain.execution import Execution
from kumihimo.services.board import Board
from kumihimo.supervisor.watched_run import WatchedRun


def note_starts(board: Board, started: list[WatchedRun]) -> None:
    """One transaction for all of them."""

    def note(_: object) -> list[Execution]:
        return [board.executions.start(run.id, run.execution.fence, log_path=str(run.folder.out)) for run in started]

    try:
        noted = board.store.write(note)
    except (IllegalTransition, StaleFence):
        # We were held up for so long that some were given up.
        noted = [_noted(board, run) for run in started]
    for run, execution in zip(started, noted, strict=True):
        run.execution = execution


def _noted(board: Board, run: WatchedRun) -> Execution:
    """Of a run that was given up while we were held up it is only followed how it ends."""
    now = board.executions.show(run.id)
    if now.fence != run.execution.fence or not now.live:
        return now
    return board.executions.start(run.id, now.fence, log_path=str(run.folder.out))
