"""A board for a test: real store, fake clock, countable ids."""

from __future__ import annotations

from pathlib import Path

from kumihimo.services.board import Board
from kumihimo.store.store import open_store
from kumihimo.testing.clock import FakeClock
from kumihimo.testing.identifiers import counting_identifiers


class BoardKit:
    """`kit.board` with its `kit.clock`; closed by `kit.close()`."""

    def __init__(self, database: str | Path) -> None:
        self.database = database
        self.clock = FakeClock()
        self.board = Board(open_store(database), self.clock, counting_identifiers())

    def close(self) -> None:
        self.board.store.close()
