"""Lists: of a group or of all, by status, and of the roles there are."""

from __future__ import annotations

from tests.lead.conftest import OpenShop
from tests.lead.shop import ROLES, Lead, Shop, until


def _ids(lead: Lead, **filters: str) -> list[str]:
    answer = lead.call("list_agents", **filters)
    assert answer["total"] == len(answer["agents"])
    return [agent["agentId"] for agent in answer["agents"]]


def test_agents_are_listed_by_group_and_by_how_they_are(shop: Shop, lead: Lead) -> None:
    gate, group = shop.gate(), lead.group()
    ended = lead.run(
        group,
        shop.script(),
        shop.script().failure(),
        shop.script().report_result("success"),
        shop.script().report_result("failure"),
        {"prompt": shop.script().hang().prompt(), "timeout_ms": 200},
    )
    done, failed, told_well, told_badly, late = ended
    lead.ended(*ended)
    running, cancelled = lead.run(group, shop.script("on").wait(gate), shop.script().hang())
    lead.call("cancel_agent", agentId=cancelled)
    until(lambda: lead.status(running)["status"] == "running")

    expected = {
        "completed": {done, told_well},
        "failed": {failed, told_badly, late, cancelled},
        "running": {running},
        "timedOut": {late},
        "cancelled": {cancelled},
        "resultReported": {told_well, told_badly},
        "queued": set(),
        "lost": set(),
        "all": {*ended, running, cancelled},
    }
    found = {status: set(_ids(lead, groupId=group, status=status)) for status in expected}
    gate.touch()
    assert found == expected
    assert _ids(lead, groupId=group) == [*ended, running, cancelled]
    lead.wait(running)


def test_an_entry_of_the_list_has_what_is_promised(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(group := lead.group(), shop.script().tool("Read", file_path="a"))
    lead.ended(run)
    (entry,) = lead.call("list_agents", groupId=group)["agents"]
    assert set(entry) == {
        "agentId", "groupId", "role", "model", "status", "startedAt", "elapsed_ms", "toolCallCount"
    }  # fmt: skip
    assert (entry["agentId"], entry["role"], entry["toolCallCount"]) == (run, "coder", 1)


def test_agents_of_other_groups_are_not_in_the_list_of_one(shop: Shop, lead: Lead) -> None:
    groups = [lead.group(), lead.group()]
    runs = [lead.run(group, shop.script())[0] for group in groups]
    lead.ended(*runs)
    assert [_ids(lead, groupId=group) for group in groups] == [[run] for run in runs]
    assert set(runs) <= set(_ids(lead))


def test_a_list_without_a_group_has_every_agent(open_shop: OpenShop) -> None:
    shop = open_shop(max_concurrent=30)
    lead = shop.lead()
    runs = lead.run(lead.group(), *(shop.script() for _ in range(25)))
    lead.wait(*runs)
    assert sorted(_ids(lead)) == sorted(runs)


def test_what_a_group_has_done_can_be_seen_after_it_is_deleted(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(group := lead.group(), shop.script().report_result(summary="Kept."))
    lead.ended(run)
    before = lead.status(run)
    lead.call("delete_group", groupId=group)
    assert _ids(lead, groupId=group) == [run]
    assert lead.status(run)["result"] == before["result"]
    assert lead.wait(run)["completed"][0]["result"]["summary"] == "Kept."
    assert lead.call("get_agent_output", agentId=run)["lines"]


def test_every_role_is_listed_with_what_plays_it(shop: Shop, lead: Lead) -> None:
    roles = {role["id"]: role for role in lead.call("list_roles")["roles"]}
    assert {role: roles[role]["client"] for role in ROLES} == ROLES
    for role in roles.values():
        assert {"id", "name", "description", "client", "model", "available", "healthCheck", "modelValidation"} <= set(
            role
        )
    # Never asked anything: available all the same.
    coder = roles["coder"]
    assert (coder["name"], coder["available"]) == ("coder", True)
    assert (coder["healthCheck"]["status"], coder["modelValidation"]["status"]) == ("skipped", "unknown")


def test_a_role_that_was_checked_says_how_that_went(open_shop: OpenShop) -> None:
    shop = open_shop()
    shop.kumi("agent", "check", "coder")
    (coder,) = (role for role in shop.lead().call("list_roles")["roles"] if role["id"] == "coder")
    assert coder["available"] is True
    assert coder["healthCheck"]["status"] == "passed"
    assert coder["healthCheck"]["responseTime_ms"] >= 0
    assert coder["healthCheck"]["checkedAt"].endswith("Z")


def test_people_and_agents_that_were_put_away_are_no_roles(open_shop: OpenShop) -> None:
    shop = open_shop()
    shop.role("boss", "claude-code", type="human")
    shop.board.agents.archive("writer")
    lead = shop.lead()
    assert {role["id"] for role in lead.call("list_roles")["roles"]} == {"coder", "tester"}
    for role in ("boss", "writer"):
        wanted = [{"role": role, "prompt": "x"}]
        assert lead.refused("run_agents", groupId=lead.group(), agents=wanted) == "ROLE_NOT_FOUND"


def test_a_program_that_is_missing_is_noticed_when_the_supervisor_starts(open_shop: OpenShop) -> None:
    shop = open_shop(commands={"codex": ["/nowhere/codex"]})
    lead = shop.lead()
    (run,) = lead.run(lead.group(), shop.script())
    lead.ended(run)

    def tester() -> bool:
        return next(role["available"] for role in lead.call("list_roles")["roles"] if role["id"] == "tester")

    until(lambda: tester() is False)
