"""One house and one driver per client library for each process of the test run; tests bring their own tasks and agents."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.interop.drivers import PYTHON, TYPESCRIPT_1, TYPESCRIPT_2, Connection, Driver
from tests.interop.house import House, open_house

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
NODE = pytest.mark.xdist_group("node")

# Library, mode of the library, and the revision that it is to end up with.
LIBRARIES = (
    (PYTHON, "legacy", HANDSHAKE),
    (PYTHON, "auto", STATELESS),
    (TYPESCRIPT_1, "", HANDSHAKE),
    (TYPESCRIPT_2, "legacy", HANDSHAKE),
    (TYPESCRIPT_2, "auto", STATELESS),
)
CLIENTS = [
    pytest.param(
        (library, mode, revision, transport),
        id=f"{library}-{revision}-{transport}".replace(" ", ""),
        marks=() if library == PYTHON else NODE,
    )
    for library, mode, revision in LIBRARIES
    for transport in ("stdio", "http")
]
Drivers = Callable[[str], Driver]


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with open_house(tmp_path_factory.mktemp("interop")) as made:
        yield made


@pytest.fixture(scope="session")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    running: dict[str, Driver] = {}
    with contextlib.ExitStack() as stack:

        def driver(library: str) -> Driver:
            if library not in running:
                log = tmp_path_factory.mktemp("driver") / "stderr"
                running[library] = stack.enter_context(Driver(library, log))
            return running[library]

        yield driver


class Visitor:
    """One client library in one mode, on one transport."""

    def __init__(self, house: House, driver: Driver, mode: str, revision: str, transport: str) -> None:
        self.house = house
        self.revision = revision
        self.transport = transport
        self._driver = driver
        self._mode = mode

    def visit(self, toolset: str) -> Connection:
        return self._driver.connect(self.house.door(self.transport, toolset), self._mode)

    def connect(self, door: dict[str, Any]) -> Connection:
        return self._driver.connect(door, self._mode)


@pytest.fixture(params=CLIENTS)
def visitor(request: pytest.FixtureRequest, house: House, drivers: Drivers) -> Visitor:
    library, mode, revision, transport = request.param
    return Visitor(house, drivers(library), mode, revision, transport)
