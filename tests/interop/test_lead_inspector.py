"""The Inspector's command line on `lead`."""

from __future__ import annotations

import json

import pytest

from kumihimo.toolsets.registry import toolset
from tests.interop.house import House
from tests.interop.test_inspector import TRANSPORTS, Inspector

pytestmark = pytest.mark.xdist_group("node")
CALL = ("--method", "tools/call", "--tool-name")


@pytest.fixture(scope="module")
def inspect(house: House, tmp_path_factory: pytest.TempPathFactory) -> Inspector:
    return Inspector(house, tmp_path_factory.mktemp("inspector"))


def test_no_schema_of_a_lead_is_found_wanting(inspect: Inspector) -> None:
    listed = inspect.ask("stdio", "lead", "--method", "tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in toolset("lead").tools]


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_group_is_created_from_the_inspector(inspect: Inspector, house: House, transport: str, era: str) -> None:
    words = ("create_group", "--tool-arg", "description=From the Inspector", "--protocol-era", era)
    made = inspect.ask(transport, "lead", *CALL, *words)["structuredContent"]
    assert (made["description"], made["status"]) == ("From the Inspector", "active")
    assert house.board.groups.show(made["groupId"]).description == "From the Inspector"


def test_a_list_of_nobody_is_waited_for_from_the_inspector(inspect: Inspector) -> None:
    waited = inspect.ask("stdio", "lead", *CALL, "wait_agent", "--tool-arg", "agentIds=[]")["structuredContent"]
    assert waited == {"completed": [], "pending": [], "timedOut": False}


def test_a_refusal_of_a_lead_is_shown_with_its_code(inspect: Inspector) -> None:
    done = inspect.run("stdio", "lead", *CALL, "delete_group", "--tool-arg", "groupId=grp-0000000000-0000")
    shown = done.stdout + done.stderr
    assert "GROUP_NOT_FOUND" in shown
    assert json.dumps("grp-0000000000-0000")[1:-1] in shown
