"""Two homes that are up on one board, and runs whose files are on the machine of one of them alone."""

from __future__ import annotations

import pytest

from tests.artifacts.distance import Pair
from tests.doors.conftest import board_url, doors, homes  # noqa: F401 - the fixtures that `pair` needs
from tests.doors.house import Entrance


@pytest.fixture
def pair(doors: list[Entrance]) -> Pair:  # noqa: F811 - a fixture is asked for by its name
    return Pair(doors)
