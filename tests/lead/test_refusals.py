"""What is refused, by which code; and that nothing has happened where something was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lead.conftest import OpenShop
from tests.lead.shop import MISSING_GROUP, MISSING_RUN, Lead, Shop, until
from tests.mcp.client import RpcRefusal

ONE = [{"role": "coder", "prompt": "x"}]
STAGES = [{"tasks": ONE}]
OF_GROUPS = pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("delete_group", {}),
        ("run_agents", {"agents": ONE}),
        ("run_sequential", {"stages": STAGES}),
        ("list_agents", {}),
    ],
)


@OF_GROUPS
def test_a_group_that_is_not_there_is_not_found(lead: Lead, tool: str, arguments: dict[str, Any]) -> None:
    for group in (MISSING_GROUP, "", "nonsense"):
        if (tool, group) != ("list_agents", ""):
            assert lead.refused(tool, groupId=group, **arguments) == "GROUP_NOT_FOUND"


def test_a_deleted_group_takes_nothing_more(lead: Lead) -> None:
    for mode, tool, arguments in (
        ("concurrent", "run_agents", {"agents": ONE}),
        ("sequential", "run_sequential", {"stages": STAGES}),
    ):
        group = lead.group(mode)
        assert lead.call("delete_group", groupId=group).data == {"deleted": True, "groupId": group}
        assert lead.refused(tool, groupId=group, **arguments) == "GROUP_NOT_ACTIVE"
        assert lead.refused("delete_group", groupId=group) == "GROUP_NOT_FOUND"


def test_a_group_with_something_running_is_not_deleted(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(group := lead.group(), shop.script().report_result().wait(gate))
    assert lead.refused("delete_group", groupId=group) == "GROUP_HAS_RUNNING_AGENTS"
    # It has reported, and its process goes on.
    assert lead.wait(run)["completed"][0]["status"] == "resultReported"
    assert lead.refused("delete_group", groupId=group) == "GROUP_HAS_RUNNING_AGENTS"
    gate.touch()
    lead.ended(run)
    assert lead.call("delete_group", groupId=group)["deleted"] is True


def test_a_group_with_stages_to_come_is_not_deleted(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    lead.plan(group := lead.group("sequential"), [shop.script().wait(gate)], [shop.script()])
    assert lead.refused("delete_group", groupId=group) == "GROUP_HAS_RUNNING_AGENTS"
    gate.touch()
    until(lambda: not lead.call("delete_group", groupId=group).is_error)


def test_a_role_that_nobody_plays_is_not_found_and_the_next_one_is_named(lead: Lead) -> None:
    wanted = [*ONE, {"role": "codr", "prompt": "x"}]
    group = lead.group()
    assert lead.refused("run_agents", groupId=group, agents=wanted) == "ROLE_NOT_FOUND"
    assert "coder" in lead.call("run_agents", groupId=group, agents=wanted)["message"]
    stages = [{"tasks": ONE}, {"tasks": wanted}]
    assert lead.refused("run_sequential", groupId=lead.group("sequential"), stages=stages) == "ROLE_NOT_FOUND"
    assert lead.call("list_agents", groupId=group).data == {"agents": [], "total": 0}


def test_a_role_whose_program_is_missing_is_unavailable_once_it_was_looked_for(open_shop: OpenShop) -> None:
    shop = open_shop(commands={"codex": ["/nowhere/codex"]})
    lead = shop.lead()
    shop.kumi("agent", "check", "tester", code=1)
    wanted = [{"role": "tester", "prompt": "x"}]
    assert lead.refused("run_agents", groupId=lead.group(), agents=[*ONE, *wanted]) == "ROLE_UNAVAILABLE"
    plan = {"stages": [{"tasks": ONE}, {"tasks": wanted}]}
    assert lead.refused("run_sequential", groupId=lead.group("sequential"), **plan) == "ROLE_UNAVAILABLE"
    roles = {role["id"]: role for role in lead.call("list_roles")["roles"]}
    assert (roles["tester"]["available"], roles["tester"]["healthCheck"]["status"]) == (False, "failed")
    assert "/nowhere/codex" in roles["tester"]["healthCheck"]["reason"]
    # Nothing was started, not even a supervisor.
    assert lead.call("list_agents").data == {"agents": [], "total": 0}
    assert shop.host is None


def test_more_than_the_slots_is_refused_whole(open_shop: OpenShop) -> None:
    shop = open_shop(max_concurrent=2)
    lead, gate = shop.lead(), shop.gate()
    three = [{"role": "coder", "prompt": shop.script().wait(gate).prompt()}] * 3
    group, staged = lead.group(), lead.group("sequential")
    assert lead.refused("run_agents", groupId=group, agents=three) == "MAX_CONCURRENT_REACHED"
    wide = [{"tasks": ONE}, {"tasks": three}]
    assert lead.refused("run_sequential", groupId=staged, stages=wide) == "MAX_CONCURRENT_REACHED"
    runs = lead.run(group, *(shop.script().wait(gate) for _ in range(2)))
    assert lead.refused("run_agents", groupId=group, agents=ONE) == "MAX_CONCURRENT_REACHED"
    assert lead.refused("run_sequential", groupId=staged, stages=STAGES) == "MAX_CONCURRENT_REACHED"
    gate.touch()
    lead.ended(*runs)
    # Stages are counted by the widest of them, not by their sum.
    narrow = [[shop.script() for _ in range(2)] for _ in range(3)]
    assert lead.plan(staged, *narrow)["total"] == 6
    assert lead.call("list_agents", groupId=group)["total"] == 2


def test_a_tool_of_the_other_mode_is_refused(lead: Lead) -> None:
    assert lead.refused("run_agents", groupId=lead.group("sequential"), agents=ONE) == "MODE_MISMATCH"
    assert lead.refused("run_sequential", groupId=lead.group(), stages=STAGES) == "MODE_MISMATCH"


@pytest.mark.parametrize("folder", ["/nowhere/at/all", "~nobody-of-that-name/x"])
def test_a_missing_folder_is_told_after_the_group_and_the_roles(lead: Lead, folder: str) -> None:
    here = {"role": "coder", "prompt": "x", "workingDirectory": folder}
    nobody = {**here, "role": "nobody"}
    for tool, mode, other, wrap, own in (
        ("run_agents", "concurrent", "sequential", lambda one: {"agents": [one]}, "AGENTS_START_FAILED"),
        (
            "run_sequential",
            "sequential",
            "concurrent",
            lambda one: {"stages": [{"tasks": [one]}]},
            "SEQUENTIAL_START_FAILED",
        ),
    ):
        deleted = lead.group(mode)
        lead.call("delete_group", groupId=deleted)
        assert lead.refused(tool, groupId=MISSING_GROUP, **wrap(here)) == "GROUP_NOT_FOUND"
        assert lead.refused(tool, groupId=deleted, **wrap(here)) == "GROUP_NOT_ACTIVE"
        assert lead.refused(tool, groupId=lead.group(other), **wrap(here)) == "MODE_MISMATCH"
        assert lead.refused(tool, groupId=lead.group(mode), **wrap(nobody)) == "ROLE_NOT_FOUND"
        assert lead.refused(tool, groupId=lead.group(mode), **wrap(here)) == own


def test_nothing_to_do_is_refused_by_its_own_code(lead: Lead) -> None:
    # Before anything else is looked at.
    assert lead.refused("run_agents", groupId=MISSING_GROUP, agents=[]) == "EMPTY_AGENTS"
    assert lead.refused("run_sequential", groupId=MISSING_GROUP, stages=[]) == "EMPTY_STAGES"
    empty = [{"tasks": ONE}, {"tasks": []}]
    assert lead.refused("run_sequential", groupId=MISSING_GROUP, stages=empty) == "EMPTY_STAGE_TASKS"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_agent_status", {}), ("report_result", {"status": "success", "summary": "x"}), ("cancel_agent", {}),
        ("continue_agent", {"prompt": "x"}), ("get_agent_output", {}),
    ],
)  # fmt: skip
def test_an_agent_that_is_not_there_is_not_found(lead: Lead, tool: str, arguments: dict[str, Any]) -> None:
    for agent in (MISSING_RUN, "", "nonsense"):
        assert lead.refused(tool, agentId=agent, **arguments) == "AGENT_NOT_FOUND"


def test_a_wait_for_an_agent_that_is_not_there_is_refused_at_once(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))
    assert lead.refused("wait_agent", agentIds=[run, MISSING_RUN]) == "AGENT_NOT_FOUND"
    assert lead.refused("wait_agent", agentIds=[MISSING_RUN], mode="any") == "AGENT_NOT_FOUND"
    gate.touch()
    lead.wait(run)


def test_agents_that_can_not_be_started_are_refused_with_the_reason(lead: Lead) -> None:
    nowhere = [{**ONE[0], "workingDirectory": "/nowhere/at/all"}]
    group = lead.group()
    assert lead.refused("run_agents", groupId=group, agents=[*ONE, *nowhere]) == "AGENTS_START_FAILED"
    assert "/nowhere/at/all" in lead.call("run_agents", groupId=group, agents=nowhere)["message"]
    assert lead.call("list_agents", groupId=group)["total"] == 0
    plan = {"stages": [{"tasks": ONE}, {"tasks": nowhere}]}
    assert lead.refused("run_sequential", groupId=lead.group("sequential"), **plan) == "SEQUENTIAL_START_FAILED"


def test_without_a_supervisor_nothing_is_taken(open_shop: OpenShop) -> None:
    shop = open_shop()
    lead = shop.lead()
    # A folder in place of its lock: no host comes up.
    (shop.home / "up.lock").mkdir()
    group, staged = lead.group(), lead.group("sequential")
    assert lead.refused("run_agents", groupId=group, agents=ONE) == "AGENTS_START_FAILED"
    assert lead.refused("run_sequential", groupId=staged, stages=STAGES) == "SEQUENTIAL_START_FAILED"
    assert lead.call("list_agents").data == {"agents": [], "total": 0}
    (shop.home / "up.lock").rmdir()
    (run,) = lead.run(group, shop.script())
    assert lead.wait(run)["completed"][0]["status"] == "completed"


def test_a_group_takes_one_plan(shop: Shop, lead: Lead) -> None:
    group = lead.group("sequential")
    planned = lead.plan(group, [shop.script()])
    assert lead.refused("run_sequential", groupId=group, stages=STAGES) == "SEQUENTIAL_START_FAILED"
    assert lead.call("list_agents", groupId=group)["total"] == planned["total"] == 1
    lead.wait(planned["agents"][0]["agentId"])


def test_a_report_is_refused_before_the_start_and_where_it_contradicts_another(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    planned = lead.plan(lead.group("sequential"), [shop.script().wait(gate)], [shop.script()])
    first, second = (agent["agentId"] for agent in planned["agents"])
    success = {"status": "success", "summary": "done"}
    assert lead.refused("report_result", agentId=second, **success) == "REPORT_REFUSED"
    until(lambda: lead.status(first)["status"] == "running")
    assert lead.call("report_result", agentId=first, **success).data == {"registered": True, "agentId": first}
    assert lead.call("report_result", agentId=first, **success)["registered"] is True
    assert lead.refused("report_result", agentId=first, status="failure", summary="no") == "REPORT_REFUSED"
    assert lead.status(first)["result"]["status"] == "success"
    gate.touch()
    lead.ended(first, second)


def test_a_conversation_that_is_not_there_or_goes_on_is_not_continued(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    running, silent = lead.run(lead.group(), shop.script().wait(gate), shop.script(opening=False).exit(1))
    lead.ended(silent)
    until(lambda: lead.status(running)["status"] == "running")
    for run in (running, silent):
        assert lead.refused("continue_agent", agentId=run, prompt="go on") == "AGENT_NOT_RESUMABLE"
    gate.touch()
    lead.ended(running)


def test_a_time_is_taken_as_the_number_that_it_is_however_it_is_written(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), {"prompt": shop.script().prompt(), "timeout_ms": 60000.0})
    assert lead.wait(run, timeout_ms=60000.0)["timedOut"] is False
    assert lead.status(run)["timeout_ms"] == 60000
    with pytest.raises(RpcRefusal) as refusal:
        lead.call("wait_agent", agentIds=[run], timeout_ms=0.5)
    assert refusal.value.code == -32602


def test_a_time_that_is_none_is_refused(lead: Lead) -> None:
    for timeout in (0, -1, 10**15):
        wanted = [{**ONE[0], "timeout_ms": timeout}]
        assert lead.refused("run_agents", groupId=lead.group(), agents=wanted) == "INVALID_VALUE"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_group", {}), ("create_group", {"description": 1}), ("create_group", {"description": "x", "mode": "both"}),
        ("create_group", {"description": "x", "more": 1}), ("delete_group", {}), ("delete_group", {"groupId": None}),
        ("run_agents", {"groupId": "g"}), ("run_agents", {"groupId": "g", "agents": [{"role": "coder"}]}),
        ("run_agents", {"groupId": "g", "agents": [{"role": "coder", "prompt": "x", "unknown": 1}]}),
        ("run_sequential", {"groupId": "g", "stages": [{}]}),
        ("run_sequential", {"groupId": "g", "stages": STAGES, "onFailure": "panic"}),
        ("list_agents", {"status": "asleep"}), ("get_agent_status", {}), ("get_agent_status", {"agentId": 5}),
        ("wait_agent", {}), ("wait_agent", {"agentIds": "exec_1"}), ("wait_agent", {"agentIds": [], "mode": "some"}),
        ("wait_agent", {"agentIds": [], "timeout_ms": "soon"}), ("report_result", {"agentId": "e", "status": "success"}),
        ("report_result", {"agentId": "e", "status": "great", "summary": "x"}), ("list_roles", {"all": True}),
        ("get_agent_output", {"agentId": "e", "limit": "many"}),
    ],
)  # fmt: skip
def test_arguments_that_break_the_schema_are_refused_as_such(lead: Lead, tool: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(RpcRefusal) as refusal:
        lead.call(tool, **arguments)
    assert refusal.value.code == -32602


def test_a_refusal_is_in_the_language_of_the_house_and_its_code_is_not(shop: Shop) -> None:
    english = shop.lead().call("delete_group", groupId=MISSING_GROUP)
    japanese = Lead(shop.home, shop.folder, "lead", "--lang", "ja")
    answer = japanese.call("delete_group", groupId=MISSING_GROUP)
    japanese.close()
    assert answer["code"] == english["code"] == "GROUP_NOT_FOUND"
    assert MISSING_GROUP in answer["message"]
    assert answer["message"] != english["message"]


def test_nobody_works_in_the_folders_of_the_home(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), shop.script())
    lead.ended(run)
    (shop.folder / "sneaky").symlink_to(shop.home / "runs")
    for folder in (shop.home, shop.home / "runs", shop.home / "runs" / run, shop.folder / "sneaky"):
        group = lead.group()
        wish = {"role": "coder", "prompt": "x", "workingDirectory": str(folder)}
        assert lead.refused("run_agents", groupId=group, agents=[wish]) == "AGENTS_START_FAILED"
        assert lead.call("list_agents", groupId=group)["total"] == 0


@OF_GROUPS
def test_a_prefix_of_several_groups_is_a_group_that_is_not_found(
    lead: Lead, tool: str, arguments: dict[str, Any]
) -> None:
    lead.group()
    lead.group()
    assert lead.refused(tool, groupId="grp-", **arguments) == "GROUP_NOT_FOUND"


def test_a_person_is_no_role_and_is_not_proposed_as_one(shop: Shop, lead: Lead) -> None:
    shop.kumi("agent", "add", "petra", "--type", "human")
    wanted = [{"role": "petra", "prompt": "x"}]
    assert lead.refused("run_agents", groupId=lead.group(), agents=wanted) == "ROLE_NOT_FOUND"
    assert "Did you mean" not in lead.call("run_agents", groupId=lead.group(), agents=wanted)["message"]
