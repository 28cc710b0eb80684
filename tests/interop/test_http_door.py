"""Who is let in over HTTP, as official clients see it."""

from __future__ import annotations

import pytest

from tests.interop.conftest import LIBRARIES, NODE, Drivers
from tests.interop.drivers import PYTHON, Refused
from tests.interop.house import House

MODES = [
    pytest.param(library, mode, id=f"{library}-{revision}".replace(" ", ""), marks=() if library == PYTHON else NODE)
    for library, mode, revision in LIBRARIES
]


@pytest.mark.parametrize(("library", "mode"), MODES)
def test_a_client_without_the_right_token_is_refused_and_one_with_it_is_not(
    house: House, drivers: Drivers, library: str, mode: str
) -> None:
    driver = drivers(library)
    with pytest.raises(Refused):
        driver.connect(house.http("manager", token="made-up"), mode)
    with driver.connect(house.http("manager"), mode) as client:
        assert client.do("listTools")["tools"]


@pytest.mark.parametrize(("library", "mode"), MODES)
def test_a_toolset_that_does_not_exist_is_no_door(house: House, drivers: Drivers, library: str, mode: str) -> None:
    with pytest.raises(Refused):
        drivers(library).connect(house.http("nothing"), mode)


@pytest.mark.parametrize(("library", "mode"), MODES)
def test_several_toolsets_are_one_server(house: House, drivers: Drivers, library: str, mode: str) -> None:
    with drivers(library).connect(house.http("runner,worker,manager"), mode) as client:
        names = {tool["name"] for tool in client.do("listTools")["tools"]}
        assert {"should_start", "authenticate", "create_task"} <= names
