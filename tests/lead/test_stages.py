"""Stage by stage: each begins when everything of the one before is done, and is told what came of it."""

from __future__ import annotations

from typing import Any

from tests.lead.conftest import OpenShop
from tests.lead.shop import Lead, Shop, until


def _ids(planned: dict[str, Any]) -> list[list[str]]:
    return [stage["agentIds"] for stage in planned["stages"]]


def _prompt(shop: Shop, name: str) -> str:
    (start,) = until(lambda: shop.records("start", name))
    return start["prompt"]


def test_a_plan_is_answered_with_the_ids_of_every_stage(shop: Shop, lead: Lead) -> None:
    group, gate = lead.group("sequential"), shop.gate()
    planned = lead.plan(group, [shop.script().wait(gate), shop.script().wait(gate)], [shop.script()], [shop.script()])
    assert (planned["groupId"], planned["totalStages"], planned["currentStageIndex"]) == (group, 3, 0)
    assert [stage["stageIndex"] for stage in planned["stages"]] == [0, 1, 2]
    assert [len(ids) for ids in _ids(planned)] == [2, 1, 1]
    every = [run for ids in _ids(planned) for run in ids]
    assert [agent["agentId"] for agent in planned["agents"]] == every
    assert {agent["status"] for agent in planned["agents"][:2]} <= {"queued", "running"}
    assert ({agent["status"] for agent in planned["agents"][2:]}, planned["total"]) == ({"queued"}, 4)
    gate.touch()
    assert len(lead.wait(*every)["completed"]) == 4
    assert [lead.status(run)["stageIndex"] for run in every] == [0, 0, 1, 2]
    assert [agent["agentId"] for agent in lead.call("list_agents", groupId=group)["agents"]] == every


def test_a_stage_begins_only_when_everything_of_the_one_before_is_done(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    planned = lead.plan(
        lead.group("sequential"), [shop.script("quick"), shop.script("slow").wait(gate)], [shop.script("after")]
    )
    (quick, slow), (after,) = _ids(planned)
    lead.ended(quick)
    until(lambda: lead.status(slow)["status"] == "running")
    assert (lead.status(after)["status"], lead.status(after)["startedAt"]) == ("queued", None)
    assert shop.records("start", "after") == []
    gate.touch()
    lead.wait(after)
    (before,) = shop.records("end", "slow")
    (start,) = shop.records("start", "after")
    assert before["monotonic"] <= start["monotonic"]


def test_a_report_lets_the_next_stage_begin_while_the_process_goes_on(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    planned = lead.plan(lead.group("sequential"), [shop.script().report_result().wait(gate)], [shop.script()])
    (first,), (second,) = _ids(planned)
    assert lead.wait(second)["completed"][0]["status"] == "completed"
    assert lead.status(first)["exitCode"] is None
    gate.touch()
    lead.ended(first)


def test_a_failed_stage_is_followed_by_the_next_unless_told_otherwise(shop: Shop, lead: Lead) -> None:
    planned = lead.plan(lead.group("sequential"), [shop.script().failure()], [shop.script()])
    (first,), (second,) = _ids(planned)
    states = lead.ended(first, second)
    assert [state["status"] for state in states] == ["failed", "completed"]


def test_after_a_failed_stage_the_rest_is_given_up_where_that_is_wanted(shop: Shop, lead: Lead) -> None:
    for bad in (shop.script().failure(), shop.script().report_result("failure", "It can't be done.")):
        stages = [[shop.script(), bad], [shop.script("never"), shop.script("never")], [shop.script("never")]]
        planned = lead.plan(lead.group("sequential"), *stages, onFailure="stop")
        every = [run for ids in _ids(planned) for run in ids]
        assert lead.wait(*every)["pending"] == []
        assert [lead.status(run)["status"] for run in every[2:]] == ["cancelled"] * 3
    assert shop.records("start", "never") == []


def test_stages_go_on_where_they_are_wanted_to_stop_and_nothing_fails(shop: Shop, lead: Lead) -> None:
    planned = lead.plan(lead.group("sequential"), [shop.script()], [shop.script()], onFailure="stop")
    (first,), (second,) = _ids(planned)
    assert [state["status"] for state in lead.ended(first, second)] == ["completed", "completed"]


def test_a_later_stage_that_is_cancelled_never_starts_and_holds_nothing_up(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    planned = lead.plan(
        lead.group("sequential"), [shop.script().wait(gate)], [shop.script("skipped")], [shop.script("last")]
    )
    _, (second,), (third,) = _ids(planned)
    assert lead.call("cancel_agent", agentId=second).data == {"cancelled": True, "agentId": second, "survivors": []}
    gate.touch()
    assert lead.wait(third)["completed"][0]["status"] == "completed"
    assert shop.records("start", "skipped") == []


def test_an_agent_is_told_who_it_is_and_to_report_before_it_is_told_what_to_do(shop: Shop, lead: Lead) -> None:
    group = lead.group()
    (run,) = lead.run(group, {"prompt": shop.script("alone").prompt("Paint the fence.")})
    lead.wait(run)
    told = _prompt(shop, "alone")
    places = [told.index(part) for part in (run, group, "report_result", "Paint the fence.")]
    assert places == sorted(places)
    assert f'agentId "{run}"' in told


def test_the_systems_own_prompt_of_a_role_reaches_the_agent_first(open_shop: OpenShop) -> None:
    shop = open_shop()
    for client in ("claude-code", "codex", "gemini-cli"):
        shop.role(f"poet-{client}", client, system_prompt="You speak in verse.")
    lead = shop.lead()
    for client in ("claude-code", "codex", "gemini-cli"):
        (run,) = lead.run(lead.group(), shop.script(client), role=f"poet-{client}")
        lead.wait(run)
        (start,) = shop.records("start", client)
        # A CLI that has a way for it is given it that way; any other finds it at the head of its prompt.
        in_arguments = any("You speak in verse." in word for word in start["argv"])
        at_the_head = start["prompt"].startswith("You speak in verse.")
        assert in_arguments != at_the_head
        assert start["prompt"].index(run) > (0 if in_arguments else len("You speak in verse."))


def test_a_stage_is_told_the_summaries_and_responses_of_the_one_before(shop: Shop, lead: Lead) -> None:
    first = [
        shop.script("s1").report_result(summary="Drew the plan.", response="Two rooms, one door."),
        shop.script("s2").report_result("failure", "No paint.", errorMessage="the shop is shut"),
        shop.script("s3").say("Said at the end."),
        shop.script("s4").exit(3),
    ]
    second = {"prompt": shop.script("builder").report_result(summary="Built it.").prompt("Build it."), "role": "coder"}
    third = {"prompt": shop.script("judge").prompt("Judge it."), "role": "coder"}
    stages = [
        {"tasks": [{"role": "coder", "prompt": script.prompt()} for script in first]},
        {"tasks": [second]},
        {"tasks": [third]},
    ]
    planned = lead.call("run_sequential", groupId=lead.group("sequential"), stages=stages).data
    lead.wait(*(agent["agentId"] for agent in planned["agents"]))
    told = _prompt(shop, "builder")
    for part in (
        "Drew the plan.",
        "Two rooms, one door.",
        "No paint.",
        "the shop is shut",
        "Said at the end.",
        ": failed",
        "exit code 3",
    ):
        assert part in told
        assert told.index(part) < told.index("Build it.")
    own = planned["stages"][1]["agentIds"][0]
    assert told.index(own) < told.index("report_result") < told.index("Drew the plan.")
    # Only of the one before.
    assert "Built it." in _prompt(shop, "judge")
    assert "Drew the plan." not in _prompt(shop, "judge")
    assert "Results" not in _prompt(shop, "s1")
