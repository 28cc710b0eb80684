"""Crashes and cuts under load: what was called done is there, and what was called undone is not."""

from __future__ import annotations

import os
import random
import threading

import pytest

from kumihimo.app import now
from kumihimo.domain.errors import StoreOutcomeUnknown, StoreUnreachable
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.store import open_store
from kumihimo.testing.databases import PostgresServer
from tests.lead.shop import until
from tests.postgres.line import Line, socket_of
from tests.promises.replay import require_same_board

WRITERS = 4
ROUNDS = 12


class Writer(threading.Thread):
    """Adds tasks, each under a title of its own, and keeps what it was told of each."""

    def __init__(self, database: str, project: str, name: str) -> None:
        super().__init__()
        self._database, self._here, self._name = database, Place(project), name
        self.over = threading.Event()
        self.done: list[str] = []
        self.undone: list[str] = []
        self.unknown: list[str] = []

    def run(self) -> None:
        board = Board(open_store(self._database), now, Identifiers(os.urandom))
        turn = 0
        while not self.over.is_set():
            turn += 1
            title = f"{self._name} {turn}"
            try:
                board.tasks.create(self._here, NewTask(title))
                self.done.append(title)
            except StoreOutcomeUnknown:
                self.unknown.append(title)
            except StoreUnreachable:
                self.undone.append(title)
        board.store.close()


@pytest.mark.slow
def test_nothing_that_was_called_done_is_missing_and_nothing_that_was_called_undone_is_there(
    own_server: PostgresServer,
) -> None:
    url = own_server.new_database()
    line = Line(socket_of(url))
    board = Board(open_store(url), now, Identifiers(os.urandom))
    project = board.projects.add("shop", "/srv/shop").id
    writers = [Writer(line.url(url), project, f"writer {number}") for number in range(WRITERS)]
    chance = random.Random(8)
    for writer in writers:
        writer.start()
    try:
        for _ in range(ROUNDS):
            before = [len(writer.done) for writer in writers]
            until(lambda before=before: all(len(w.done) > b + 5 for w, b in zip(writers, before, strict=True)))
            ending = chance.choice(["unsent", "unheard", "swallowed", "crash", "cut"])
            if ending == "crash":
                own_server.restart("immediate")
            elif ending == "cut":
                line.cut_all()
            else:
                cut = line.commits_cut
                line.cut_next_commit(ending, meanwhile=lambda: own_server.restart("immediate"))
                until(lambda cut=cut: line.commits_cut > cut)
    finally:
        for writer in writers:
            writer.over.set()
        for writer in writers:
            writer.join(90)
        line.close()
    kept = {row[0] for row in board.store.read(lambda t: t.connection.execute("SELECT title FROM tasks"))}
    require_same_board(board.store)
    board.store.close()
    done = {title for writer in writers for title in writer.done}
    undone = {title for writer in writers for title in writer.undone}
    assert done - kept == set()
    assert undone & kept == set()
    assert kept - done <= {title for writer in writers for title in writer.unknown}
    # The server came back each time within the time for which it is asked.
    assert [title for writer in writers for title in writer.unknown] == []
