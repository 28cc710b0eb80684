"""Fixtures: databases on a real PostgreSQL, and lines to it."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.postgres.line import Line, socket_of


@pytest.fixture
def url(server_database: str) -> str:
    return server_database


@pytest.fixture
def line(url: str) -> Iterator[Line]:
    made = Line(socket_of(url))
    yield made
    made.close()


@pytest.fixture
def role(postgres: PostgresServer) -> Iterator[str]:
    """Somebody who may log in, and nothing else."""
    name = f"plain_{uuid.uuid4().hex[:8]}"
    postgres.new_role(name)
    yield name
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.fixture
def owned(postgres: PostgresServer, role: str) -> Iterator[str]:
    """A database of that role, for that role."""
    made = postgres.new_database(owner=role)
    yield made
    postgres.drop(made)


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """For tests that end it: others are not to be disturbed."""
    with tempfile.TemporaryDirectory(prefix="kumi-pg-") as folder:
        made = PostgresServer(Path(folder) / "data")
        yield made
        made.stop()


@pytest.fixture
def opened() -> Iterator[Callable[[str], BoardKit]]:
    """Boards of a test, closed when it is over."""
    with ExitStack() as stack:

        def make(database: str) -> BoardKit:
            kit = BoardKit(database)
            stack.callback(kit.close)
            return kit

        yield make
