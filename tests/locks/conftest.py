"""A home that is up, and a browser that has signed in to it or has not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kumihimo.surfaces.http.codes import Codes
from tests.locks.browser import Browser
from tests.mcp.conftest import town  # noqa: F401 - the fixture that `door` needs
from tests.mcp.http_door import HttpDoor, open_door
from tests.mcp.town import Town


@pytest.fixture
def door(town: Town) -> Iterator[HttpDoor]:  # noqa: F811 - a fixture is asked for by its name
    yield from open_door(town)


@pytest.fixture
def stranger(door: HttpDoor) -> Browser:
    return Browser(door)


@pytest.fixture
def browser(door: HttpDoor) -> Browser:
    found = Browser(door)
    assert found.get(f"/login?code={Codes(door.town.home).make()}").status == 200
    return found
