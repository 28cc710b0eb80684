"""What waits for the disk: everything that was decided. What can be read once more from a capture need not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Observation
from kumihimo.services.board import Board
from kumihimo.services.executions import Executions
from kumihimo.services.wish import Wish
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer


@pytest.fixture
def board(postgres: PostgresServer) -> Any:
    url = postgres.new_database()
    kit = BoardKit(url)
    yield kit.board
    kit.close()
    postgres.drop(url)


def commits(board: Board, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """For every commit from now on, whether it waits for the disk."""
    connection: Any = board.store.connection
    found: list[str] = []
    commit: Callable[[], None] = connection.commit

    def note() -> None:
        found.append(connection.execute("SHOW synchronous_commit")[0][0])
        commit()

    monkeypatch.setattr(connection, "commit", note)
    return found


def running(board: Board) -> Execution:
    board.projects.init("/srv/shop", git=False)
    board.executions.enqueue(Wish(board.agents.show("coder"), "group"))
    claimed = board.executions.claim("host")
    assert claimed is not None
    return board.executions.start(claimed.id, claimed.fence)


def test_what_was_seen_alone_waits_for_no_disk(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    run = running(board)
    found = commits(board, monkeypatch)
    board.executions.observe([Observation(run.id, position=10)])
    assert found == ["off"]


def test_an_end_waits_for_the_disk_also_where_the_last_that_was_seen_is_written_with_it(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = running(board)
    found = commits(board, monkeypatch)
    runs: Executions = board.executions

    def end(_: object) -> None:
        runs.observe([Observation(run.id, position=10)])
        runs.complete(run.id, run.fence)

    board.store.write(end)
    assert found == ["on"]
