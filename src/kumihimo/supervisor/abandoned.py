"""Sessions that were started by a command whose own process is gone: what is known of their end is written down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kumihimo.domain.execution import Execution
from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.verifying import folder_of
from kumihimo.settings import Settings

# Who starts a session writes down at once which process it is. So long nobody doubts it.
_PATIENCE = timedelta(seconds=60)


def close_abandoned(board: Board, settings: Settings, host_id: str) -> None:
    """The end of a session is told by who started it. Where that one was killed, we tell it."""
    for run in board.workers.attended(host_id):
        folder = RunFolder(folder_of(settings, run.id))
        if not folder.was_started:
            if run.started_at is not None and board.clock() - run.started_at > _PATIENCE:
                board.executions.lose(run.id, run.fence, error="its command ended before it could say what it started")
        elif folder.is_over() and board.clock() - _ended_at(folder) > _PATIENCE:
            _close(board, run, folder)


def _ended_at(folder: RunFolder) -> datetime:
    """When the agent ended, or else when it was last heard of. Who started it may be about to tell."""
    for file in (folder.path / "exit", folder.out, folder.path / "started"):
        if file.exists():
            return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    return datetime.fromtimestamp(0, UTC)


def _close(board: Board, run: Execution, folder: RunFolder) -> None:
    ended = folder.ended()
    if ended is None:
        board.executions.lose(run.id, run.fence, error="its command was killed")
        return
    place = Place(run.project_id)
    board.work_sessions.end(place, run.id, ended.code, signal=ended.signal, error="its command was killed meanwhile")
