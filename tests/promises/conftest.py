"""Fixtures of the promises: children that are started once and given the database of each test."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kumihimo.testing.boards import BoardKit

from .crew import Crew

_STARTS = itertools.count(10**6, 10**6)


@pytest.fixture(scope="session")
def eight() -> Iterator[Crew]:
    """Eight processes, shared by the tests of one run."""
    crew = Crew(8)
    yield crew
    crew.close()


@pytest.fixture
def crew(eight: Crew, database: str) -> Crew:
    """The eight, each with a connection of its own to the database of this test."""
    eight.open(database)
    return eight


@pytest.fixture
def open_kit() -> Iterator[Callable[[str | Path], BoardKit]]:
    """Further boards of a test, each with its own connection, closed when the test is over."""
    with contextlib.ExitStack() as stack:

        def make(database: str | Path) -> BoardKit:
            kit = BoardKit(database)
            stack.callback(kit.close)
            # Ids that no other board of the test gives out.
            kit.board.tasks.identifiers._random_bytes._count = next(_STARTS)  # type: ignore[attr-defined]
            return kit

        yield make
