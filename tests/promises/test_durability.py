"""What waits for the disk: everything that was decided. What can be read once more from a capture need not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kumihimo.domain.execution import Execution
from kumihimo.domain.host import Awaited
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


def statements(board: Board, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Everything that is sent from now on."""
    database: Any = getattr(board.store.connection, "_database")  # noqa: B009 - what only its own database knows
    found: list[tuple[str, Any]] = []
    execute: Callable[..., Any] = database.execute

    def note(sql: Any, *values: Any, **how: Any) -> Any:
        found.append((sql.decode() if isinstance(sql, bytes) else sql, values))
        return execute(sql, *values, **how)

    monkeypatch.setattr(database, "execute", note)
    return found


def test_what_was_seen_alone_is_one_statement_that_waits_for_no_disk(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = running(board)
    found = statements(board, monkeypatch)
    seen = [Observation(run.id, position=position) for position in (5, 10)]
    board.executions.observe(seen)
    board.executions.observe([])
    ((sql, _),) = found
    light = board.store.connection.dialect.light
    assert light is not None
    assert sql.endswith(light)
    assert board.executions.sight(run.id).seen.position == 10


def test_a_lease_that_is_only_longer_is_one_statement_that_waits_for_no_disk(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.hosts.renew("host_here", "here", 5)
    found = statements(board, monkeypatch)
    assert board.hosts.extend("host_here") == Awaited()
    assert board.hosts.extend("host_there") is None
    assert [sql.partition(" ")[0] for sql, _ in found] == ["UPDATE", "UPDATE"]
    assert all(sql.endswith(board.store.connection.dialect.light or "-") for sql, _ in found)


def test_what_waits_for_no_disk_is_that_one_statement_and_nothing_behind_it(board: Board) -> None:
    connection = board.store.connection
    board.hosts.renew("host_here", "here", 5)
    told = connection.execute(
        f"UPDATE hosts SET slots = 6 RETURNING id{connection.dialect.light}, current_setting('synchronous_commit')"
    )
    assert told == [("host_here", "off", "off")]
    assert connection.execute("SHOW synchronous_commit") == [("on",)]


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
