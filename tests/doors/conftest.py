"""Two homes that are up and share one board."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kumihimo.testing.databases import PostgresServer
from tests.doors.house import Entrance
from tests.supervisor.home import Home


@pytest.fixture
def board_url(postgres: PostgresServer) -> Iterator[str]:
    url = postgres.new_database()
    yield url
    postgres.drop(url)


@pytest.fixture
def homes(board_url: str, tmp_path: Path) -> Iterator[list[Home]]:
    made = [Home(tmp_path / name, database=board_url, settings=[f'host.name = "{name}"']) for name in ("one", "two")]
    yield made
    for home in made:
        home.close()


@pytest.fixture
def doors(homes: list[Home]) -> list[Entrance]:
    found = [Entrance(home) for home in homes]
    for door in found:
        door.home.up()
    for door in found:
        door.wait_until_known()
    return found
