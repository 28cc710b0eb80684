"""Places: worktrees that are made here for workers which were asked for on another host."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from kumihimo import settings as configuration
from kumihimo.domain.errors import KumihimoError, StoreError
from kumihimo.domain.execution import Execution
from kumihimo.services.board import Board
from kumihimo.services.working import make_place
from kumihimo.settings import Settings

# Nobody waits long where a bell was not heard, and many bells are one question.
_LOOK_SECONDS = 10.0
_PAUSE_SECONDS = 0.5


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
                try:
                    for run in self._board.executions.to_be_placed((self._host_id,)):
                        self._make(run)
                except StoreError as error:
                    self._say(f"the store can't be used: {error}")
                self._pause.wait(_PAUSE_SECONDS)
                self._woken.wait(_LOOK_SECONDS)
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

    def _make(self, run: Execution) -> None:
        try:
            worker = self._board.workers.view(run.id)
            flags = configuration.Flags(db=self._settings.database)
            folder = self._settings.folder / worker.project.working_directory
            make_place(self._board, configuration.load(flags, os.environ, folder), worker)
        except StoreError:
            raise
        except (KumihimoError, OSError) as error:
            # Its task says so, and waits for somebody who can help.
            self._board.workers.give_up(run.id, str(error))
            self._say(f"no place could be made for {run.id}: {error}")
