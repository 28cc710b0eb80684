"""Places: worktrees that are made here for workers which were asked for on another host, or follow others by themselves."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from kumihimo import settings as configuration
from kumihimo.domain.errors import KumihimoError, StoreError, WorktreeHeld
from kumihimo.domain.execution import Execution
from kumihimo.services.board import Board
from kumihimo.services.working import make_place
from kumihimo.settings import Settings

# Where a bell was not heard we are told with the next lease. Many bells are one question.
_LOOK_SECONDS = 120.0
_PAUSE_SECONDS = 0.5
# How soon it is looked again for a worktree that somebody is about to let go.
_HELD_SECONDS = 1.0


class PlaceMaker:
    """Beside the supervisor, in a thread of its own: to make a worktree takes as long as a repository is large."""

    def __init__(self, settings: Settings, board: Board, host_id: str, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._board = board
        self._host_id = host_id
        self._say = say
        self._pause = threading.Event()
        self._woken = threading.Event()
        board.store.actor = "supervisor"

    def run(self) -> None:
        """Until `stop` is called."""
        try:
            while not self._pause.is_set():
                held = False
                try:
                    held = self._look()
                except StoreError as error:
                    self._say(f"the store can't be used: {error}")
                self._pause.wait(_PAUSE_SECONDS)
                self._woken.wait(_HELD_SECONDS if held else _LOOK_SECONDS)
                self._woken.clear()
        finally:
            self._board.store.close()

    def wake(self) -> None:
        """From any thread: something has happened on the board."""
        self._woken.set()

    def stop(self) -> None:
        """From any thread."""
        self._pause.set()
        self._woken.set()

    def _look(self) -> bool:
        """Make what is to be made here. Answers whether something has to wait for its worktree."""
        waiting = self._board.executions.to_be_placed((self._host_id,))
        for run in waiting:
            if not run.attempt:
                self._make(run)
        return any(run.attempt for run in waiting) and self._make_retries()

    def _make_retries(self) -> bool:
        held = False
        for run in self._board.retries.within_reach(self._host_id):
            # Other hosts want it as well, and one has it. One after the other: meanwhile they may take the next.
            if self._board.retries.take(run.id, self._host_id) is not None:
                held = not self._make(run) or held
        return held

    def _make(self, run: Execution) -> bool:
        """False where its worktree is not free yet."""
        try:
            worker = self._board.workers.view(run.id)
            flags = configuration.Flags(db=self._settings.database)
            folder = self._settings.folder / worker.project.working_directory
            make_place(self._board, configuration.load(flags, os.environ, folder), worker, self._host_id)
        except StoreError:
            raise
        except (KumihimoError, OSError) as error:
            if run.attempt and isinstance(error, WorktreeHeld):
                return False
            # Its task says so, and waits for somebody who can help.
            self._board.workers.give_up(run.id, str(error), self._host_id)
            self._say(f"no place could be made for {run.id}: {error}")
        return True
