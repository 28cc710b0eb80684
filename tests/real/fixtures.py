"""The fixtures: a scripted model, each CLI in turn, our server's stand-in, and a folder to work in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.board import Board, open_board
from tests.real.clis import CLIS, Cli, Settings
from tests.real.model import Model
from tests.real.runs import Workshop


@pytest.fixture
def model() -> Iterator[Model]:
    """A scripted model; `model.url`, and `model.requests` that it has had."""
    with Model() as running:
        yield running


@pytest.fixture(params=CLIS, ids=lambda cli: cli.name)
def cli(request: pytest.FixtureRequest) -> Cli:
    """Each of the real CLIs in turn, installed."""
    found: Cli = request.param
    found.installed()
    return found


@pytest.fixture
def settings(cli: Cli, model: Model, tmp_path: Path) -> Settings:
    """What a configuration says of this CLI, so that it talks to the scripted model."""
    return cli.pointed_at(model.url, tmp_path / "home")


@pytest.fixture
def board() -> Iterator[Board]:
    """A stand-in for our MCP server; `board.url`, and the `board.reports` that it has had."""
    with open_board() as running:
        yield running


@pytest.fixture
def workshop(cli: Cli, settings: Settings, tmp_path: Path) -> Iterator[Workshop]:
    """A folder with one CLI, by which `workshop.run(prompt)` runs it. What is left of it ends with the test."""
    made = Workshop(cli, settings, tmp_path)
    yield made
    made.close()
