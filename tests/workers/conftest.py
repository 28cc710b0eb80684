"""A workshop for a whole file of tests, each with tasks and files of its own; and one for a test that breaks something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workers.workshop import GIT, Workshop

OpenWorkshop = Callable[..., Workshop]


@pytest.fixture(autouse=True, scope="module")
def git_of_nobody() -> Iterator[None]:
    """Settings of git that somebody has on this machine change nothing here."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in GIT.items():
            patched.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def workshop(git_of_nobody: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    made = Workshop(tmp_path_factory.mktemp("workers"))
    yield made
    made.close()


@pytest.fixture
def open_workshop(tmp_path: Path) -> Iterator[OpenWorkshop]:
    """`open_workshop(up=False)`: a home of its own."""
    made: list[Workshop] = []

    def opened(database: str | None = None, **how: Any) -> Workshop:
        made.append(Workshop(tmp_path, database, **how))
        return made[-1]

    yield opened
    for one in made:
        one.close()
