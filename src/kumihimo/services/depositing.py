"""Deposits: files of runs that are over, put where every host of the board finds them.

What is still to be put is a file in a folder of its own, so that a kill or an outage costs nothing: it is put when there is
somebody to do it and a place to take it. To put something twice is the same as once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from kumihimo.domain.errors import ExecutionNotFound, StoreError
from kumihimo.domain.execution import Execution
from kumihimo.engine.artifacts.artifact import NAMES, ArtifactTrouble, Depot
from kumihimo.engine.processes.proofs import NAME as PROOF
from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.services.artifacts import WAITING, expect_deposit
from kumihimo.services.board import Board
from kumihimo.services.verifying import Verification, folder_of
from kumihimo.settings import Settings

# In the folder of a run that was put, with the time of the proof that was.
MARK = "deposited"
_TAKEN = ".taken"
_LOOK_SECONDS = 2.0
_AFTER_TROUBLE_SECONDS = 15.0


class Depositor:
    """`say` takes what a person should read."""

    def __init__(self, settings: Settings, board: Board, depot: Depot, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._board = board
        self._depot = depot
        self._say = say
        self._waiting = settings.state_folder / WAITING
        self._over = threading.Event()
        self._later = 0.0
        self._said = ""
        board.store.actor = "supervisor"

    def run(self) -> None:
        """Until `stop` is called."""
        try:
            self.recall()
            while not self._over.is_set():
                if time.monotonic() >= self._later:
                    self.look()
                self._over.wait(_LOOK_SECONDS)
        finally:
            self._board.store.close()

    def stop(self) -> None:
        """From any thread."""
        self._over.set()

    def look(self) -> None:
        """Put what waits. What can't be put now waits on."""
        try:
            for run_id in sorted({file.name.removesuffix(_TAKEN) for file in self._files()}):
                if self._over.is_set():
                    return
                self._take(run_id)
            self._said = ""
        except (ArtifactTrouble, StoreError, OSError) as error:
            self._later = time.monotonic() + _AFTER_TROUBLE_SECONDS
            if str(error) != self._said:
                self._said = str(error)
                self._say(f"files of runs could not be put where all hosts find them, and are tried again: {error}")

    def recall(self) -> None:
        """What was over when there was no such place yet, or when we were killed before it was even noted."""
        runs = self._settings.state_folder / "runs"
        if runs.is_dir():
            for folder in runs.iterdir():
                if folder.is_dir() and not _is_put(folder):
                    expect_deposit(self._settings, folder.name)

    def _files(self) -> list[Path]:
        return list(self._waiting.iterdir()) if self._waiting.is_dir() else []

    def _take(self, run_id: str) -> None:
        waiting, taken = self._waiting / run_id, self._waiting / f"{run_id}{_TAKEN}"
        # Renamed: who notes it anew while it is being put, because there is a newer proof, is not overlooked.
        if waiting.exists():
            waiting.replace(taken)
        try:
            run = self._board.executions.show(run_id)
        except ExecutionNotFound:
            # Of another board that this home had.
            taken.unlink(missing_ok=True)
            return
        if self._is_ready(run):
            self._put(run)
        taken.unlink(missing_ok=True)

    def _is_ready(self, run: Execution) -> bool:
        """Whether it is over, with its secrets struck out and its proof kept. If not, it is noted again when that is so."""
        folder = RunFolder(folder_of(self._settings, run.id))
        if run.live or run.unverified or not folder.path.is_dir():
            return False
        if (folder.path / PROOF).exists():
            return True
        if run.status == "lost" or not folder.is_over():
            return False
        Verification(self._board, self._settings).keep_proof(run.id)
        return True

    def _put(self, run: Execution) -> None:
        folder = folder_of(self._settings, run.id)
        position = self._board.executions.sight(run.id).seen.position
        proof = _time_of(folder / PROOF)
        for name in NAMES:
            file = folder / name
            if file.is_file():
                size = file.stat().st_size
                # What lies behind has not been looked at for secrets.
                self._depot.put(run.id, name, file, min(size, position) if name == "out" else size)
        (folder / MARK).write_text(proof, "ascii")


def _is_put(folder: Path) -> bool:
    """All of it, with its newest proof."""
    try:
        return (folder / MARK).read_text("ascii") == _time_of(folder / PROOF)
    except FileNotFoundError:
        return False


def _time_of(file: Path) -> str:
    return str(file.stat().st_mtime_ns)
