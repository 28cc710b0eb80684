"""Fixtures of every test: a database on SQLite and on PostgreSQL in turn, and a board on it."""

from __future__ import annotations

import gc
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer

# The objects of some types that there are.
StillThere = Callable[..., list[Any]]


def pytest_configure() -> None:
    """Let what the tests start hear signals, as from a terminal: a shell that starts us in its background has them ignored,
    and who is started by somebody who ignores a signal ignores it as well."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture
def still_there() -> Iterator[StillThere]:
    """What was made since the test began and is there. Nobody looks for garbage meanwhile: what holds itself is still there
    when it is over."""
    gc.collect()
    gc.disable()
    # Held, so that none of these makes room for another at its address.
    before = gc.get_objects()
    known = set(map(id, before))
    yield lambda *types: [it for it in gc.get_objects() if isinstance(it, types) and id(it) not in known]
    gc.enable()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for each process of the test run."""
    # Not in pytest's own folder: another run of pytest clears that up.
    with tempfile.TemporaryDirectory(prefix="kumi-pg-") as folder:
        server = PostgresServer(Path(folder) / "data")
        yield server
        server.stop()


@pytest.fixture
def server_database(postgres: PostgresServer) -> Iterator[str]:
    """The URL of an empty database on the server."""
    url = postgres.new_database()
    yield url
    postgres.drop(url)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database: every test that asks for it runs on both."""
    if request.param == "sqlite":
        yield str(tmp_path / "kumi.db")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_database()
    yield url
    server.drop(url)


@pytest.fixture
def kit(database: str) -> Iterator[BoardKit]:
    made = BoardKit(database)
    yield made
    made.close()
