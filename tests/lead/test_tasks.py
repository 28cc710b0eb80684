"""Waits as tasks: a handle for clients that can hold one, good at any door and after the death of the one that gave it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.lead.modern import ModernClient
from tests.lead.shop import MISSING_RUN, Lead, Shop, until
from tests.mcp.client import RpcRefusal


@pytest.fixture(scope="module")
def modern(shop: Shop) -> Iterator[ModernClient]:
    with ModernClient(shop) as client:
        yield client


def _get(client: ModernClient, task: str) -> dict[str, Any]:
    return client.request("tasks/get", taskId=task)


def _result(client: ModernClient, task: str) -> dict[str, Any]:
    """The result of a task, once it is completed."""
    until(lambda: _get(client, task)["status"] != "working")
    state = _get(client, task)
    assert state["status"] == "completed", state
    return state["result"]


def test_a_wait_is_given_as_a_task_and_completes_with_the_answer_of_the_call(
    shop: Shop, lead: Lead, modern: ModernClient
) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().report_result(summary="Held.").wait(gate))
    lead.wait(run)
    (other,) = lead.run(lead.group(), shop.script().wait(gate))
    handle = modern.call("wait_agent", agentIds=[run, other])
    assert (handle["resultType"], handle["status"]) == ("task", "working")
    assert handle["pollIntervalMs"] > 0
    working = _get(modern, handle["taskId"])
    assert working["status"] == "working"
    assert "result" not in working
    gate.touch()
    lead.ended(run, other)
    result = _result(modern, handle["taskId"])
    plain = lead.request("tools/call", {"name": "wait_agent", "arguments": {"agentIds": [run, other]}})
    assert result["structuredContent"] == plain["structuredContent"]
    assert result["content"] == plain["content"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["isError"] is False


def test_a_wait_that_is_over_already_is_answered_at_once(shop: Shop, lead: Lead, modern: ModernClient) -> None:
    (run,) = lead.run(lead.group(), shop.script())
    lead.ended(run)
    answer = modern.call("wait_agent", agentIds=[run])
    assert "taskId" not in answer
    assert answer["structuredContent"]["pending"] == []


def test_a_task_is_good_at_another_door_after_the_first_was_killed(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))
    first = ModernClient(shop)
    task = first.call("wait_agent", agentIds=[run])["taskId"]
    first.kill()
    with ModernClient(shop) as second:
        assert _get(second, task)["status"] == "working"
        gate.touch()
        completed = _result(second, task)["structuredContent"]["completed"]
    assert [done["agentId"] for done in completed] == [run]


def test_a_task_of_any_completes_with_the_first(shop: Shop, lead: Lead, modern: ModernClient) -> None:
    gates = [shop.gate() for _ in range(2)]
    runs = lead.run(lead.group(), *(shop.script().wait(gate) for gate in gates))
    task = modern.call("wait_agent", agentIds=runs, mode="any")["taskId"]
    gates[1].touch()
    waited = _result(modern, task)["structuredContent"]
    assert [done["agentId"] for done in waited["completed"]] == [runs[1]]
    assert [pending["agentId"] for pending in waited["pending"]] == [runs[0]]
    gates[0].touch()
    lead.wait(*runs)


def test_a_task_whose_time_is_up_completes_with_what_is_not_done(shop: Shop, lead: Lead, modern: ModernClient) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))
    task = modern.call("wait_agent", agentIds=[run], timeout_ms=100)["taskId"]
    waited = _result(modern, task)["structuredContent"]
    assert (waited["timedOut"], [pending["agentId"] for pending in waited["pending"]]) == (True, [run])
    gate.touch()
    lead.wait(run)


def test_a_task_may_be_patient_beyond_all_time(shop: Shop, lead: Lead, modern: ModernClient) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))
    tasks = [modern.call("wait_agent", agentIds=[run], timeout_ms=10**digits)["taskId"] for digits in (18, 25)]
    assert [_get(modern, task)["status"] for task in tasks] == ["working", "working"]
    gate.touch()
    assert [_result(modern, task)["structuredContent"]["timedOut"] for task in tasks] == [False, False]


def test_cancelling_a_task_harms_nobody(shop: Shop, lead: Lead, modern: ModernClient) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script("unharmed").wait(gate))
    task = modern.call("wait_agent", agentIds=[run])["taskId"]
    until(lambda: shop.records("start", "unharmed"))
    modern.request("tasks/cancel", taskId=task)
    assert lead.status(run)["status"] == "running"
    gate.touch()
    assert lead.wait(run)["completed"][0]["status"] == "completed"
    modern.request("tasks/cancel", taskId=task)


def test_a_task_that_nobody_gave_is_unknown(modern: ModernClient) -> None:
    beyond = "wait-" + base64.urlsafe_b64encode(
        msgspec.msgpack.encode([["exec_1"], "all", None, 2**62])
    ).decode().strip("=")
    for task in ("none", "wait-", "wait-AAAA", "wait-🦊", beyond):
        for method in ("tasks/get", "tasks/cancel"):
            with pytest.raises(RpcRefusal) as refusal:
                modern.request(method, taskId=task)
            assert refusal.value.code == -32602


def test_a_refusal_is_a_refusal_and_no_task(modern: ModernClient) -> None:
    answer = modern.call("wait_agent", agentIds=[MISSING_RUN])
    assert answer["isError"] is True
    assert json.loads(answer["content"][0]["text"])["code"] == "AGENT_NOT_FOUND"


def test_a_client_that_has_no_tasks_is_given_none(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))
    with ModernClient(shop, {}) as plain:
        waited = plain.call("wait_agent", agentIds=[run], timeout_ms=50)["structuredContent"]
        assert waited["timedOut"] is True
        with pytest.raises(RpcRefusal):
            plain.request("tasks/get", taskId="wait-AAAA")
    gate.touch()
    lead.wait(run)


def test_a_task_is_watched_over_by_a_supervisor_as_any_wait_is(shop: Shop, lead: Lead, modern: ModernClient) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script("left").wait(gate))
    until(lambda: shop.records("start", "left"))
    task = modern.call("wait_agent", agentIds=[run])["taskId"]
    shop.kill_host()
    gate.touch()
    assert _result(modern, task)["structuredContent"]["pending"] == []
