"""Racers: threads with a board of their own each, which are let go at the same moment."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from kumihimo.app import now
from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.store.store import open_store

from .patience import BOUND_SECONDS

Job = Callable[[Board], Any]


class Racer:
    def __init__(self, database: str) -> None:
        # One thread: a store belongs to it.
        self._thread = ThreadPoolExecutor(1)
        self._board = self._thread.submit(
            lambda: Board(open_store(database), now, Identifiers(os.urandom))
        ).result(BOUND_SECONDS)  # fmt: skip

    def begin(self, job: Job, line: threading.Barrier) -> Future[Any]:
        def run() -> Any:
            line.wait(BOUND_SECONDS)
            try:
                return job(self._board)
            except KumihimoError as refusal:
                return refusal

        return self._thread.submit(run)

    def close(self) -> None:
        self._thread.submit(self._board.store.close).result(BOUND_SECONDS)
        self._thread.shutdown()


class Racers:
    def __init__(self, database: str, size: int) -> None:
        self._racers = [Racer(database) for _ in range(size)]

    def together(self, jobs: Sequence[Job]) -> list[Any]:
        """What each answered; a refusal is an answer."""
        line = threading.Barrier(len(jobs))
        begun = [racer.begin(job, line) for racer, job in zip(self._racers, jobs, strict=False)]
        return [one.result(BOUND_SECONDS) for one in begun]

    def close(self) -> None:
        for racer in self._racers:
            racer.close()
