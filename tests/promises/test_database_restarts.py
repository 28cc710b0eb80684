"""PostgreSQL goes away and comes back under load: nothing that was acknowledged is lost, and nobody has to be restarted."""

from __future__ import annotations

import os
import random
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kumihimo.app import now
from kumihimo.domain.errors import StoreError
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.store import open_store
from kumihimo.testing.databases import PostgresServer
from tests.lead.shop import Shop, until

RESTARTS = 20
WRITERS = 3


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """One of its own: others are not to be disturbed."""
    with tempfile.TemporaryDirectory(prefix="kumi-pg-") as folder:
        made = PostgresServer(Path(folder) / "data")
        yield made
        made.stop()


class Writer(threading.Thread):
    """Adds tasks until it is told to stop, and keeps those that were acknowledged."""

    def __init__(self, database: str, project: str) -> None:
        super().__init__()
        self._database = database
        self._place = Place(project)
        self.over = threading.Event()
        self.acknowledged: list[str] = []

    def run(self) -> None:
        board = Board(open_store(self._database), now, Identifiers(os.urandom))
        while not self.over.is_set():
            with suppress(StoreError):
                self.acknowledged.append(board.tasks.create(self._place, NewTask("work")).task.id)
        board.store.close()


@pytest.mark.slow
def test_a_database_that_restarts_under_load_loses_nothing_and_nobody_has_to_be_restarted(
    server: PostgresServer, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, server.new_database(), max_concurrent=WRITERS + 5)
    writers = [Writer(shop.database, shop.project.id) for _ in range(WRITERS)]
    chance = random.Random(20)
    try:
        lead, gate = shop.lead(), shop.gate()
        runs = lead.run(lead.group(), *(shop.script().lines(50).wait(gate).say("Last.") for _ in range(5)))
        host = until(lambda: shop.host)
        for writer in writers:
            writer.start()
        until(lambda: all(writer.acknowledged for writer in writers))
        for _ in range(RESTARTS):
            before = [len(writer.acknowledged) for writer in writers]
            server.restart(chance.choice(["fast", "immediate"]))
            # Each of them goes on by itself.
            until(lambda before=before: all(len(w.acknowledged) > b for w, b in zip(writers, before, strict=True)))
        gate.touch()
        for writer in writers:
            writer.over.set()
            writer.join()
        ended = lead.ended(*runs)
        kept = {row[0] for row in shop.board.store.read(lambda t: t.connection.execute("SELECT id FROM tasks"))}
    finally:
        for writer in writers:
            writer.over.set()
        shop.close()
    assert {task for writer in writers for task in writer.acknowledged} <= kept
    assert [(run["status"], run["lastAssistantMessage"]) for run in ended] == [("completed", "Last.")] * 5
    assert shop.host is None or shop.host.process == host.process
