"""Homes for the tests of the engine, ended with everything that was started in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .bystander import Bystander
from .home import Home

MakeHome = Callable[..., Home]


@pytest.fixture
def make_home(tmp_path: Path) -> Iterator[MakeHome]:
    """`make_home("one", slots=3)`: several homes in one test, each in a folder of its own."""
    with ExitStack() as stack:

        def make(name: str = "one", **how: object) -> Home:
            home = Home(tmp_path / name, **how)  # type: ignore[arg-type]
            stack.callback(home.close)
            return home

        yield make


@pytest.fixture
def home(make_home: MakeHome) -> Home:
    return make_home()


@pytest.fixture
def either_home(database: str, make_home: MakeHome) -> Home:
    """On SQLite and on PostgreSQL in turn: what is promised whoever dies is promised on both."""
    return make_home(database=database)


@pytest.fixture
def bystander(tmp_path: Path) -> Iterator[Bystander]:
    """A process that has nothing to do with any run, and writes down every signal that it gets."""
    with Bystander(tmp_path / "signals") as made:
        yield made
