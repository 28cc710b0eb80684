"""Sessions that were started by a command whose own process is gone: what is known of their end is written down."""

from __future__ import annotations

import signal
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec

from kumihimo.domain.errors import IllegalTransition, StaleFence
from kumihimo.domain.execution import Execution
from kumihimo.domain.session import Process
from kumihimo.engine.processes import tree
from kumihimo.engine.processes.identity import proven_dead
from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.services.board import Board
from kumihimo.services.verifying import folder_of
from kumihimo.settings import Settings
from kumihimo.supervisor.attended import ATTENDANT, close

# Who starts a session writes down at once which process it is. So long nobody doubts it.
_PATIENCE = timedelta(seconds=60)


def close_abandoned(board: Board, settings: Settings, host_id: str) -> bool:
    """The end of a session is told by who started it. Where that one was killed, we tell it. Answers whether there are any:
    that its process was killed nobody tells."""
    attended = board.workers.attended(host_id)
    for run in attended:
        # In between, somebody may have told its end.
        with suppress(IllegalTransition, StaleFence):
            _look_at(board, run, RunFolder(folder_of(settings, run.id)))
    return bool(attended)


def _look_at(board: Board, run: Execution, folder: RunFolder) -> None:
    alone = _is_alone(folder)
    if alone and run.stopping is not None:
        # Nobody else is there to end it.
        wrapper = folder.wrapper()
        tree.send([one for one in tree.of_run(run.id, wrapper) if one != wrapper], signal.SIGKILL)
    if not folder.was_started:
        if run.started_at is not None and board.clock() - run.started_at > _PATIENCE:
            board.executions.lose(run.id, run.fence, error="its command ended before it could say what it started")
    elif folder.is_over() and (alone or board.clock() - _ended_at(folder) > _PATIENCE):
        _close(board, run, folder)


def _is_alone(folder: RunFolder) -> bool:
    """Whether who started it is certainly gone."""
    try:
        return proven_dead(msgspec.json.decode((folder.path / ATTENDANT).read_bytes(), type=Process))
    except (OSError, msgspec.DecodeError):
        return False


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
    close(board, run.id, ended, "its command was killed meanwhile")
