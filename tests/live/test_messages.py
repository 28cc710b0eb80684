"""What happens on the board is told to who watches, in S0's words, each thing once."""

from __future__ import annotations

from typing import Any

import pytest

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from tests.live.conftest import Home

GROUP_KEYS = {"groupId", "description", "mode", "createdAt", "status"}


def test_who_comes_is_shown_everything_first(home: Home) -> None:
    group = home.lead.group()
    (run,) = home.lead.run(group, home.shop.script().say("Hello."))
    home.lead.ended(run)
    home.shop.board.tasks.create(Place(home.shop.project.id), NewTask("To be seen"))
    with home.watch() as watcher:
        first = watcher.next()
    assert first["type"] == "snapshot"
    assert set(first["data"]) == {"groups", "agents", "tasks"}
    assert [it["groupId"] for it in first["data"]["groups"]] == [group]
    assert [it["title"] for it in first["data"]["tasks"]] == ["To be seen"]
    (agent,) = first["data"]["agents"]
    assert agent == home.lead.status(run)
    assert "pid" not in agent


def test_a_group_is_told_from_its_creation_to_its_end(home: Home) -> None:
    with home.watch() as watcher:
        watcher.until_type("snapshot")
        group = home.lead.group()
        gate = home.shop.gate()
        script = home.shop.script().say("On it.").wait(gate).report_result(summary="All done.")
        (run,) = home.lead.run(group, script)
        watcher.until(lambda it: it["type"] == "agent:status_update" and it["data"]["lastAssistantMessage"] == "On it.")
        gate.touch()
        ended = watcher.until_type("agent:completed")
        home.lead.call("delete_group", groupId=group)
        watcher.until_type("group:deleted")
    told = {message["type"]: message["data"] for message in watcher.told}
    assert set(told["group:created"]) == GROUP_KEYS
    assert told["agent:created"]["agentId"] == run
    assert told["agent:result_reported"] | {"summary": "All done.", "agentId": run} == told["agent:result_reported"]
    assert told["group:deleted"] == {"groupId": group}
    assert ended["data"] == home.lead.status(run)
    assert watcher.types(("agent:status_update", "server:startup")) == [
        "snapshot", "group:created", "agent:created", "agent:result_reported", "agent:completed", "group:deleted",
    ]  # fmt: skip


def test_the_stages_of_a_plan_are_told_as_they_come(home: Home) -> None:
    with home.watch() as watcher:
        watcher.until_type("snapshot")
        group = home.lead.group("sequential")
        home.lead.plan(group, [home.shop.script()], [home.shop.script()])
        advanced = watcher.until_type("group:stage_advanced")
        watcher.until(lambda it: it["type"] == "agent:completed" and it["data"]["stageIndex"] == 1)
    assert advanced["data"] == {"groupId": group, "stageIndex": 1, "totalStages": 2}
    assert watcher.types().count("agent:created") == 2
    assert "group:updated" in watcher.types()


@pytest.mark.parametrize("how", ["cancelled", "failed", "timedOut"])
def test_every_run_that_ends_is_told_however_it_ends(home: Home, how: str) -> None:
    shop, wish = home.shop, {"prompt": home.shop.script("x").hang().prompt()}
    if how == "failed":
        wish = {"prompt": shop.script("x").exit(3).prompt()}
    elif how == "timedOut":
        wish["timeout_ms"] = 200
    with home.watch() as watcher:
        watcher.until_type("snapshot")
        (run,) = home.lead.run(home.lead.group(), wish)
        if how == "cancelled":
            home.lead.call("cancel_agent", agentId=run)
        ended = watcher.until_type("agent:completed")
    assert (ended["data"]["agentId"], ended["data"]["status"]) == (run, how)


def test_tasks_handoffs_memories_and_sessions_are_told_too(home: Home) -> None:
    board, place = home.shop.board, Place(home.shop.project.id)
    key = board.agents.add("keyed")
    board.projects.assign(home.shop.project.id, key.agent)
    with home.watch() as watcher:
        watcher.until_type("snapshot")
        task = board.tasks.create(place, NewTask("Tell me", assignee="coder")).task
        board.tasks.update(place, task.number, status="in_progress")
        board.contexts.add(place, task.number, "It is blue.", "note")
        board.handoffs.create(place, task.number, from_agent="coder", summary="Yours.", to_agent="tester")
        board.memories.add(place, "linter", category="tooling", title="Use ruff", summary="", content="ruff")
        board.sessions.authenticate(key.agent.id, key.passkey, home.shop.project.id)
        watcher.until_type("session:started")
    by_type: dict[str, Any] = {message["type"]: message["data"] for message in watcher.told}
    assert by_type["task:created"]["title"] == "Tell me"
    assert by_type["task:moved"]["status"] == "in_progress"
    assert by_type["task:context_added"]["content"] == "It is blue."
    assert (by_type["handoff:created"]["toAgent"], by_type["memory:created"]["id"]) == ("tester", "linter")


def test_checks_of_programs_and_changes_of_roles_are_told(home: Home) -> None:
    with home.watch() as watcher:
        watcher.until_type("snapshot")
        home.shop.kumi("agent", "check", "coder")
        watcher.until_type("healthcheck:complete")
        home.shop.kumi("agent", "update", "coder", "--role", "Writes code")
        changed = watcher.until_type("config:updated")
    by_type = {message["type"]: message["data"] for message in watcher.told}
    assert by_type["healthcheck:role_start"] == {"roleId": "coder"}
    assert by_type["healthcheck:role_complete"]["role"]["healthCheck"]["status"] == "passed"
    assert {role["id"] for role in by_type["healthcheck:complete"]["roles"]} >= {"coder", "tester", "writer"}
    assert changed["data"]["role"]["description"] == "Writes code"
