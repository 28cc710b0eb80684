"""Agents that are started at once: what is answered, what they do, what can be seen of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kumihimo.testing.scripts import is_alive
from tests.lead.conftest import OpenShop
from tests.lead.shop import ROLES, Lead, Shop, until

SEEN = {
    "agentId", "groupId", "role", "model", "status", "startedAt", "elapsed_ms", "toolCallCount"
}  # fmt: skip


def test_a_group_is_created_with_an_id_of_its_second_and_shown_as_active(lead: Lead) -> None:
    made = lead.call("create_group", description="Review the API").data
    assert re.fullmatch(r"grp-\d{10}-[0-9a-f]{4}", made["groupId"])
    assert (made["description"], made["mode"], made["status"]) == ("Review the API", "concurrent", "active")
    assert made["createdAt"].endswith("Z")


@pytest.mark.parametrize("role", ROLES)
def test_an_agent_of_any_client_runs_to_its_end(shop: Shop, lead: Lead, role: str) -> None:
    gate, group = shop.gate(), lead.group()
    script = shop.script(usage={"input": 100, "output": 20}).wait(gate).say("Hello.")
    started = lead.call("run_agents", groupId=group, agents=[{"role": role, "prompt": script.prompt()}]).data
    assert started["total"] == 1
    (agent,) = started["agents"]
    assert set(agent) == {"agentId", "groupId", "role", "model", "status"}
    assert (agent["groupId"], agent["role"]) == (group, role)
    assert agent["status"] in ("queued", "running")
    gate.touch()
    waited = lead.wait(agent["agentId"])
    assert (waited["pending"], waited["timedOut"]) == ([], False)
    state = lead.status(agent["agentId"])
    assert (state["status"], state["exitCode"], state["failureReason"]) == ("completed", 0, None)
    assert state["lastAssistantMessage"] == "Hello."
    assert (state["usage"]["inputTokens"], state["usage"]["outputTokens"]) == (100, 20)
    assert state["workingDirectory"] == str(shop.folder)


def test_several_agents_are_started_by_one_call_and_run_at_the_same_time(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    runs = lead.run(lead.group(), *(shop.script(f"together-{n}").wait(gate) for n in range(3)))
    until(lambda: all(shop.records("start", f"together-{n}") for n in range(3)))
    assert {lead.status(run)["status"] for run in runs} == {"running"}
    gate.touch()
    assert len(lead.wait(*runs)["completed"]) == 3


def test_the_state_has_everything_that_is_public_and_no_pid(shop: Shop, lead: Lead) -> None:
    script = shop.script("public").write("made.txt", "x").tool("Read", file_path="a")
    script.tool("Read", ok=False, file_path="b")
    (run,) = lead.run(lead.group(), {"prompt": script.prompt(), "timeout_ms": 60_000})
    lead.wait(run)
    state = lead.status(run)
    assert set(state) > SEEN
    assert {"prompt", "workingDirectory", "timeout_ms", "stageIndex", "lastAssistantMessage", "recentToolCalls",
            "editedFiles", "createdFiles", "usage", "result", "exitCode", "signal", "failureReason", "branch",
            "worktree"} < set(state)  # fmt: skip
    (agent,) = shop.records("start", "public")
    assert "pid" not in state
    assert agent["pid"] not in state.values()
    assert (state["toolCallCount"], len(state["recentToolCalls"])) == (3, 3)
    assert [call["ok"] for call in state["recentToolCalls"]] == [True, True, False]
    assert state["createdFiles"] == [str(shop.folder / "made.txt")]
    assert (state["timeout_ms"], state["stageIndex"], state["result"]) == (60_000, None, None)


def test_the_time_of_a_running_agent_goes_on_and_stops_at_its_end(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script("timed").wait(gate))
    until(lambda: shop.records("start", "timed"))
    first = lead.status(run)["elapsed_ms"]
    until(lambda: lead.status(run)["elapsed_ms"] > first)
    gate.touch()
    (state,) = lead.ended(run)
    assert lead.status(run)["elapsed_ms"] == state["elapsed_ms"] == lead.wait(run)["completed"][0]["duration_ms"]


def test_only_the_last_ten_tool_calls_are_shown_and_all_are_counted(shop: Shop, lead: Lead) -> None:
    script = shop.script()
    for number in range(12):
        script.tool("Read", file_path=f"{number}.txt")
    (run,) = lead.run(lead.group(), script)
    lead.wait(run)
    state = lead.status(run)
    assert (state["toolCallCount"], len(state["recentToolCalls"])) == (12, 10)
    assert "11.txt" in state["recentToolCalls"][-1]["arguments"]


def test_an_agent_works_in_the_folder_that_it_is_given(shop: Shop, lead: Lead) -> None:
    (shop.folder / "part").mkdir(exist_ok=True)
    runs = lead.run(
        lead.group(),
        {"prompt": shop.script("here").prompt()},
        {"prompt": shop.script("there").prompt(), "workingDirectory": "part"},
        {"prompt": shop.script("absolute").prompt(), "workingDirectory": str(shop.gates)},
    )
    lead.wait(*runs)
    folders = {name: shop.records("start", name)[0]["cwd"] for name in ("here", "there", "absolute")}
    assert folders == {"here": str(shop.folder), "there": str(shop.folder / "part"), "absolute": str(shop.gates)}


@pytest.mark.parametrize(
    ("role", "step", "reason"),
    [("coder", "rate_limit", "rate_limited"), ("tester", "auth_failure", "auth"), ("writer", "failure", None)],
)
def test_an_agent_that_fails_says_why(shop: Shop, lead: Lead, role: str, step: str, reason: str | None) -> None:
    (run,) = lead.run(lead.group(), getattr(shop.script(), step)(), role=role)
    assert [done["status"] for done in lead.wait(run)["completed"]] == ["failed"]
    state = lead.status(run)
    assert state["failureReason"] == reason or reason is None
    assert state["failureReason"]
    assert state["exitCode"] != 0 or role == "coder"


def test_death_by_a_signal_is_told_by_its_name_and_number(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), shop.script().die("KILL"))
    (state,) = lead.ended(run)
    assert (state["status"], state["failureReason"]) == ("failed", "signalled")
    assert (state["exitCode"], state["signal"]) == (137, "SIGKILL")


def test_an_agent_whose_time_is_up_is_ended(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), {"prompt": shop.script("late").hang().prompt(), "timeout_ms": 300})
    (done,) = lead.wait(run)["completed"]
    state = lead.status(run)
    assert (done["status"], state["failureReason"]) == ("timedOut", "timed_out")


def test_a_cancelled_agent_leaves_no_process_behind(shop: Shop, lead: Lead) -> None:
    ready = shop.gate()
    script = shop.script("cancelled").child().daemon().touch(ready).hang()
    (run,) = lead.run(lead.group(), script)
    until(ready.exists)
    answer = lead.call("cancel_agent", agentId=run).data
    assert answer == {"cancelled": True, "agentId": run, "survivors": []}
    left = [record for record in shop.records(name="cancelled") if record["event"] in ("start", "child", "daemon")]
    assert len(left) == 3
    assert [record["event"] for record in left if is_alive(record)] == []
    assert lead.status(run)["status"] == "cancelled"
    # Again, it is what it was.
    assert lead.call("cancel_agent", agentId=run).data == answer


def test_cancelling_what_has_ended_changes_nothing_and_says_so(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), shop.script())
    lead.ended(run)
    assert lead.call("cancel_agent", agentId=run).data == {"cancelled": False, "agentId": run, "survivors": []}
    assert lead.status(run)["status"] == "completed"


def test_the_output_is_read_page_by_page_to_its_end(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), shop.script().lines(25))
    lead.ended(run)
    whole = lead.call("get_agent_output", agentId=run).data
    assert whole["done"] is True
    assert sum("line " in line for line in whole["lines"]) >= 25
    lines: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = lead.call("get_agent_output", agentId=run, limit=7, **cursor).data
        assert len(page["lines"]) <= 7
        lines += page["lines"]
        cursor = {"cursor": page["nextCursor"]}
        if page["done"]:
            break
    assert lines == whole["lines"]
    assert lead.call("get_agent_output", agentId=run, **cursor).data == {
        "lines": [], "nextCursor": cursor["cursor"], "done": True,
    }  # fmt: skip


@pytest.mark.parametrize("limit", [0, -1, -(2**40)])
def test_no_lines_or_fewer_are_refused_as_lists_refuse_them(shop: Shop, lead: Lead, limit: int) -> None:
    (run,) = lead.run(lead.group(), shop.script().lines(3))
    lead.ended(run)
    assert lead.refused("get_agent_output", agentId=run, limit=limit) == "INVALID_VALUE"


def test_the_output_of_a_running_agent_goes_on_from_its_cursor(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().say("first").wait(gate).say("second"))
    until(lambda: "first" in str(lead.call("get_agent_output", agentId=run)["lines"]))
    page = lead.call("get_agent_output", agentId=run).data
    assert page["done"] is False
    gate.touch()
    lead.ended(run)
    rest = lead.call("get_agent_output", agentId=run, cursor=page["nextCursor"]).data
    assert "second" in str(rest["lines"])
    assert "first" not in str(rest["lines"])
    assert rest["done"] is True


def test_a_conversation_is_continued_by_a_new_run(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(group := lead.group(), shop.script("one", session="11111111-2222-4333-8444-555555555555"))
    lead.ended(run)
    begun = lead.call("continue_agent", agentId=run, prompt=shop.script("two").say("Still here.").prompt()).data
    assert set(begun) == {"agentId", "groupId", "role", "model", "status"}
    assert (begun["groupId"], begun["role"]) == (group, "coder")
    assert begun["agentId"] != run
    lead.wait(begun["agentId"])
    state = lead.status(begun["agentId"])
    assert (state["status"], state["lastAssistantMessage"], state["continues"]) == ("completed", "Still here.", run)
    first, second = (shop.records("start", name)[0] for name in ("one", "two"))
    assert first["session"] == second["session"]


def test_a_conversation_goes_on_after_its_group_was_deleted(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(group := lead.group(), shop.script())
    lead.ended(run)
    lead.call("delete_group", groupId=group)
    begun = lead.call("continue_agent", agentId=run, prompt=shop.script().prompt()).data
    assert begun["groupId"] is None
    assert lead.wait(begun["agentId"])["completed"][0]["status"] == "completed"


@pytest.mark.parametrize("role", ROLES)
def test_a_prompt_arrives_as_it_was_written(shop: Shop, lead: Lead, role: str) -> None:
    hard = "日本語 🦊 \u2028 \x1b[31m '\"`id` $(touch pwned) \\ %s {{}}\r\n\ttab " + "long " * 30_000
    script = shop.script(f"told-{role}")
    (run,) = lead.run(lead.group(), {"prompt": script.prompt(hard)}, role=role)
    assert lead.wait(run)["completed"][0]["status"] == "completed"
    (start,) = shop.records("start", f"told-{role}")
    assert hard in start["prompt"]
    assert not (shop.folder / "pwned").exists()


def test_what_an_agent_leaves_behind_ends_with_it(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), shop.script("litters").child(300.0).daemon(300.0))
    assert lead.ended(run)[0]["status"] == "completed"
    left = [record for record in shop.records(name="litters") if record["event"] in ("child", "daemon")]
    assert len(left) == 2
    until(lambda: not any(is_alive(record) for record in left))


def test_an_agent_that_does_not_listen_is_killed(shop: Shop, lead: Lead) -> None:
    ready = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().ignore_term().touch(ready).hang())
    until(ready.exists)
    assert lead.call("cancel_agent", agentId=run).data == {"cancelled": True, "agentId": run, "survivors": []}
    state = lead.status(run)
    assert (state["status"], state["exitCode"], state["signal"]) == ("cancelled", 137, "SIGKILL")


def test_every_run_that_is_over_has_its_proof(shop: Shop, lead: Lead) -> None:
    """Also one of a group, which left nothing to be checked."""
    good, bad = lead.run(lead.group(), shop.script().say("fine"), shop.script().exit(3))
    lead.ended(good)
    lead.ended(bad)
    for run, code in ((good, 0), (bad, 3)):
        file = shop.home / "runs" / run / "proof.json"
        until(file.exists)
        proof = json.loads(file.read_text())
        assert (proof["run"], proof["exit_code"]) == (run, code)
        assert len(proof["prompt_sha256"]) == 64


def test_a_folder_may_be_named_from_the_users_home(
    open_shop: OpenShop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "user" / "there").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    shop = open_shop()
    lead = shop.lead()
    (run,) = lead.run(lead.group(), {"prompt": shop.script().prompt(), "workingDirectory": "~/there"})
    assert lead.status(run)["workingDirectory"] == str(tmp_path / "user" / "there")
    lead.ended(run)
    wish = {"role": "coder", "prompt": "x", "workingDirectory": "~nobody-of-this-name/there"}
    assert lead.refused("run_agents", groupId=lead.group(), agents=[wish]) == "AGENTS_START_FAILED"
