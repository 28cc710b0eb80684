"""Several leads at once: slots are never overdrawn, and of two things that exclude each other one is done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

from kumihimo.testing.scripts import Script
from tests.lead.conftest import OpenShop
from tests.lead.shop import Lead, Shop, until, wish
from tests.mcp.client import Answer


def at_once(*calls: Callable[[], Answer]) -> list[Answer]:
    """Each in a thread of its own, all let go together."""
    barrier = Barrier(len(calls))

    def one(call: Callable[[], Answer]) -> Answer:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(one, calls))


def running(lead: Lead, group: str, script: Script) -> Callable[[], Answer]:
    return lambda: lead.call("run_agents", groupId=group, agents=[wish(script)])


def codes(answers: list[Answer]) -> list[Any]:
    return [answer["code"] if answer.is_error else None for answer in answers]


def test_of_many_that_want_the_last_slots_as_many_get_one_as_there_are(open_shop: OpenShop) -> None:
    shop = open_shop(max_concurrent=3)
    gate, leads = shop.gate(), [shop.lead() for _ in range(6)]
    group = leads[0].group()
    said = codes(at_once(*(running(lead, group, shop.script("held").wait(gate)) for lead in leads)))
    assert (said.count(None), said.count("MAX_CONCURRENT_REACHED")) == (3, 3)
    until(lambda: len(shop.records("start", "held")) == 3)
    gate.touch()
    agents = leads[0].call("list_agents", groupId=group)["agents"]
    assert len(leads[0].wait(*(agent["agentId"] for agent in agents))["completed"]) == 3


def test_a_group_is_deleted_or_run_and_never_both(shop: Shop, lead: Lead) -> None:
    other = shop.lead()
    for _ in range(10):
        group = lead.group()
        ran, deleted = at_once(running(lead, group, shop.script()), partial(other.call, "delete_group", groupId=group))
        assert ran.is_error != deleted.is_error
        assert codes([ran]) == ["GROUP_NOT_ACTIVE"] or codes([deleted]) == ["GROUP_HAS_RUNNING_AGENTS"]
        for agent in ran.data.get("agents", []):
            lead.ended(agent["agentId"])


def test_of_two_plans_at_once_a_group_takes_one(shop: Shop, lead: Lead) -> None:
    leads = [lead, shop.lead()]
    stages = [{"tasks": [wish(shop.script())]}]
    for _ in range(5):
        group = lead.group("sequential")
        said = at_once(*(partial(one.call, "run_sequential", groupId=group, stages=stages) for one in leads))
        assert sorted(codes(said), key=str) == [None, "SEQUENTIAL_START_FAILED"]
        agents = lead.call("list_agents", groupId=group)["agents"]
        assert len(agents) == 1
        lead.ended(agents[0]["agentId"])


def test_of_two_different_reports_at_once_one_is_kept(shop: Shop, lead: Lead) -> None:
    other = shop.lead()
    for _ in range(5):
        (run,) = lead.run(lead.group(), shop.script())
        lead.ended(run)
        said = at_once(
            partial(lead.call, "report_result", agentId=run, status="success", summary="yes"),
            partial(other.call, "report_result", agentId=run, status="failure", summary="no"),
        )
        assert sorted(codes(said), key=str) == [None, "REPORT_REFUSED"]
        kept = "success" if not said[0].is_error else "failure"
        assert lead.status(run)["result"]["status"] == kept


def test_many_that_need_a_supervisor_at_once_start_one(open_shop: OpenShop) -> None:
    shop = open_shop()
    leads = [shop.lead() for _ in range(4)]
    group = leads[0].group()
    answers = at_once(*(running(lead, group, shop.script("counted")) for lead in leads))
    assert codes(answers) == [None] * 4
    runs = [answer["agents"][0]["agentId"] for answer in answers]
    assert len(leads[0].wait(*runs)["completed"]) == 4
    assert len(shop.records("start", "counted")) == 4
    assert {record["environment"]["KUMI_RUN"] for record in shop.records("start", "counted")} == set(runs)
