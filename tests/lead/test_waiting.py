"""Waiting: for all or for any, for so long and no longer, beside other calls, and in ways that no client gives up on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from kumihimo import settings as configuration
from kumihimo.surfaces.http.application import Application
from kumihimo.surfaces.mcp import waiting
from kumihimo.surfaces.mcp.door import Door
from tests.lead.shop import Lead, Shop, until

LONG_MS = 3_600_000


def test_waiting_for_all_answers_when_the_last_is_done(shop: Shop, lead: Lead) -> None:
    gates = [shop.gate() for _ in range(2)]
    runs = lead.run(lead.group(), *(shop.script().wait(gate) for gate in gates))
    asked = lead.send_call("wait_agent", agentIds=runs, timeout_ms=LONG_MS)
    gates[0].touch()
    # What is asked meanwhile is answered first: the other one is still at work.
    lead.ended(runs[0])
    assert lead.status(runs[1])["status"] == "running"
    gates[1].touch()
    answer = lead.receive()
    assert answer["id"] == asked
    waited = answer["result"]["structuredContent"]
    assert [done["agentId"] for done in waited["completed"]] == runs
    assert all(set(done) == {"agentId", "status", "duration_ms"} for done in waited["completed"])
    assert (waited["pending"], waited["timedOut"]) == ([], False)
    assert "stillWaiting" not in waited


def test_waiting_for_any_answers_when_the_first_is_done(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    quick, slow = lead.run(lead.group(), shop.script(), shop.script().wait(gate))
    waited = lead.wait(quick, slow, mode="any")
    assert [done["agentId"] for done in waited["completed"]] == [quick]
    (pending,) = waited["pending"]
    assert set(pending) == {"agentId", "status", "elapsed_ms"}
    assert (pending["agentId"], pending["status"], waited["timedOut"]) == (slow, "running", False)
    gate.touch()
    assert lead.wait(quick, slow)["pending"] == []


def test_a_wait_that_takes_too_long_says_what_is_done_and_what_is_not(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    quick, slow = lead.run(lead.group(), shop.script(), shop.script().wait(gate))
    lead.ended(quick)
    waited = lead.wait(quick, slow, timeout_ms=50)
    assert ([done["agentId"] for done in waited["completed"]], waited["timedOut"]) == ([quick], True)
    assert [pending["agentId"] for pending in waited["pending"]] == [slow]
    for timeout in (0, -1):
        assert lead.wait(slow, timeout_ms=timeout)["timedOut"] is True
    gate.touch()
    assert lead.wait(slow)["timedOut"] is False


def test_waiting_for_nobody_is_over_at_once(lead: Lead) -> None:
    for mode in ("all", "any"):
        answer = lead.call("wait_agent", agentIds=[], mode=mode).data
        assert answer == {"completed": [], "pending": [], "timedOut": False}


def test_an_agent_that_is_named_twice_is_answered_once(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), shop.script())
    assert [done["agentId"] for done in lead.wait(run, run, run)["completed"]] == [run]


def test_a_report_releases_a_wait_while_the_process_goes_on(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script("reporter").report_result(summary="All is well.").wait(gate))
    (done,) = lead.wait(run)["completed"]
    assert (done["status"], done["result"]["summary"]) == ("resultReported", "All is well.")
    assert lead.status(run)["exitCode"] is None
    gate.touch()
    (state,) = lead.ended(run)
    assert (state["status"], state["exitCode"]) == ("resultReported", 0)


def test_many_waits_at_once_are_all_answered(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))
    asked = {lead.send_call("wait_agent", agentIds=[run]) for _ in range(20)}
    assert lead.call("list_roles")["roles"]
    gate.touch()
    answers = [lead.receive() for _ in asked]
    assert {answer["id"] for answer in answers} == asked
    assert all(answer["result"]["structuredContent"]["pending"] == [] for answer in answers)


def test_another_process_is_told_of_what_ends(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))
    other = shop.lead()
    asked = other.send_call("wait_agent", agentIds=[run])
    gate.touch()
    answer = other.receive()
    assert (answer["id"], answer["result"]["structuredContent"]["timedOut"]) == (asked, False)


async def _wait_over_http(shop: Shop, run: str, **more: Any) -> list[dict[str, Any]]:
    """The messages that come for a wait, from a door in this process."""
    settings = configuration.load(configuration.Flags(), {"KUMI_HOME": str(shop.home)}, shop.folder)
    door = Door(settings)
    application = Application(door, "owner")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        **more,
    }
    call = {"name": "wait_agent", "arguments": {"agentIds": [run]}, "_meta": meta}
    headers = {
        "authorization": "Bearer owner", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "wait_agent",
    }  # fmt: skip
    transport = httpx.ASGITransport(application)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            answer = await client.post("/mcp/lead", json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            if answer.headers["content-type"].startswith("application/json"):
                return [answer.json()]
            return [
                json.loads(line[5:])
                for line in answer.text.split("\n")
                if line.startswith("data:") and line[5:].strip()
            ]
    finally:
        await application.close()
        door.close()


def test_a_client_that_may_give_up_is_answered_before_it_does(
    shop: Shop, lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert waiting.CUT_SHORT_SECONDS == 50.0
    monkeypatch.setattr(waiting, "CUT_SHORT_SECONDS", 0.1)
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))
    (answer,) = asyncio.run(_wait_over_http(shop, run))
    waited = answer["result"]["structuredContent"]
    assert (waited["timedOut"], waited["stillWaiting"], waited["completed"]) == (False, True, [])
    assert [pending["agentId"] for pending in waited["pending"]] == [run]
    gate.touch()
    lead.wait(run)
    (answer,) = asyncio.run(_wait_over_http(shop, run))
    assert "stillWaiting" not in answer["result"]["structuredContent"]


def test_a_client_with_a_progress_token_is_told_of_progress_and_waits_to_the_end(
    shop: Shop, lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "CUT_SHORT_SECONDS", 0.1)
    monkeypatch.setattr(waiting, "_PROGRESS_SECONDS", 0.05)
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))

    async def wait_and_open() -> list[dict[str, Any]]:
        asked = asyncio.ensure_future(_wait_over_http(shop, run, progressToken="mine"))
        # Longer than a client without a token would be left waiting, and several times progress.
        _, pending = await asyncio.wait((asked,), timeout=0.5)
        assert pending, "it is not cut short"
        gate.touch()
        return await asked

    *told, answer = asyncio.run(wait_and_open())
    assert len(told) > 1
    assert {one["method"] for one in told} == {"notifications/progress"}
    assert {one["params"]["progressToken"] for one in told} == {"mine"}
    values = [one["params"]["progress"] for one in told]
    assert values == sorted(values)
    assert answer["result"]["structuredContent"]["pending"] == []


def test_progress_is_sent_on_stdio_too(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))
    params = {"name": "wait_agent", "arguments": {"agentIds": [run]}, "_meta": {"progressToken": 7}}
    asked = lead.ask("tools/call", params)
    told = lead.receive()
    assert (told["method"], told["params"]["progressToken"]) == ("notifications/progress", 7)
    gate.touch()
    answer = lead.receive()
    while "id" not in answer:
        answer = lead.receive()
    assert (answer["id"], answer["result"]["structuredContent"]["pending"]) == (asked, [])


def test_a_wait_that_is_taken_back_is_not_answered_and_stops_nothing(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script("unhurried").wait(gate))
    asked = lead.send_call("wait_agent", agentIds=[run])
    until(lambda: shop.records("start", "unhurried"))
    lead._send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked}})
    assert lead.status(run)["status"] == "running"
    gate.touch()
    assert lead.wait(run)["completed"][0]["status"] == "completed"
