"""Yards for the tests of the Runner, ended with everything that was started in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.runner.yard import Yard

MakeYard = Callable[..., Yard]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Runner in this process reads the settings of the test, and not those of whoever runs it."""
    monkeypatch.setenv("KUMI_HOME", str(tmp_path / "home"))


@pytest.fixture
def make_yard(tmp_path: Path) -> Iterator[MakeYard]:
    with ExitStack() as stack:

        def make(name: str = "yard", **how: object) -> Yard:
            yard = Yard(tmp_path / name, **how)  # type: ignore[arg-type]
            stack.callback(yard.close)
            return yard

        yield make


@pytest.fixture
def yard(make_yard: MakeYard) -> Yard:
    made = make_yard()
    made.up()
    return made
