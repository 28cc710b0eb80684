"""A server process that is ended at a commit: before it nothing is there, and that is told; after it everything is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from kumihimo.app import now
from kumihimo.domain.errors import StoreUnreachable
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.store.postgres import PostgresConnection
from kumihimo.store.store import open_store


@pytest.fixture
def url(server_database: str) -> str:
    return server_database


@pytest.fixture
def board(url: str) -> Iterator[Board]:
    made = Board(open_store(url), now, Identifiers(os.urandom))
    yield made
    made.store.close()


class Cut:
    """A connection that is cut at its first COMMIT: before it, or after it was done and before that was told."""

    def __init__(self, real: psycopg.Connection[Any], url: str, *, after: bool) -> None:
        self._real = real
        self._url = url
        self._after = after
        self.commits = 0

    def execute(self, statement: Any, *values: Any, **how: Any) -> Any:
        if not statement.endswith(b"COMMIT" if isinstance(statement, bytes) else "COMMIT") or self.commits:
            return self._real.execute(statement, *values, **how)
        self.commits += 1
        if self._after:
            self._real.execute(statement, **how)
        with psycopg.connect(self._url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (self._real.info.backend_pid,))
        return self._real.execute("SELECT 1" if self._after else statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def cut(board: Board, url: str, *, after: bool) -> Cut:
    connection = board.store.connection
    assert isinstance(connection, PostgresConnection)
    cutting = Cut(connection._database, url, after=after)
    connection._database = cutting  # type: ignore[assignment]
    return cutting


def test_what_was_not_committed_is_told_and_not_there(board: Board, url: str) -> None:
    cut(board, url, after=False)
    with pytest.raises(StoreUnreachable):
        board.agents.add("lost")
    assert board.agents.list().items == []
    # The next command has a connection again.
    assert board.agents.add("next").agent.name == "next"


def test_what_was_committed_is_answered(board: Board, url: str) -> None:
    cutting = cut(board, url, after=True)
    assert board.agents.add("kept").agent.name == "kept"
    assert cutting.commits == 1
    assert [agent.name for agent in board.agents.list().items] == ["kept"]
