"""`lead` over HTTP, and on a database that is not a file: the same tools, the same answers."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kumihimo.domain.token import Token
from kumihimo.services.hosting import Running
from tests.lead.conftest import OpenShop
from tests.lead.modern import REVISION, TASKS, meta
from tests.lead.shop import BOUND_SECONDS, MISSING_GROUP, Lead, Shop, until


class HttpLead:
    """A stateless client of `/mcp/lead`."""

    def __init__(self, running: Running, token: str, capabilities: dict[str, Any] | None = None) -> None:
        self._port = running.port
        self._token = token
        self._meta = meta(capabilities or {})

    def ask(self, method: str, params: dict[str, Any], path: str = "/mcp/lead") -> tuple[int, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": self._meta}}
        headers = {
            "content-type": "application/json", "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {self._token}", "mcp-protocol-version": REVISION, "mcp-method": method,
            "mcp-name": params.get("name") or params.get("taskId") or "",
        }  # fmt: skip
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        read = answer.read()
        connection.close()
        return answer.status, json.loads(read) if read else None

    def call(self, name: str, /, **arguments: Any) -> Any:
        status, answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert status == 200, answer
        result = answer["result"]
        return json.loads(result["content"][0]["text"]) if "content" in result else result


@pytest.fixture(scope="module")
def host(shop: Shop, lead: Lead) -> Running:
    (run,) = lead.run(lead.group(), shop.script())
    lead.ended(run)
    return until(lambda: shop.host)


@pytest.fixture(scope="module")
def remote(shop: Shop, host: Running) -> HttpLead:
    return HttpLead(host, (shop.home / "token").read_text().strip())


def test_agents_are_run_waited_for_and_read_over_http(shop: Shop, lead: Lead, remote: HttpLead) -> None:
    group = remote.call("create_group", description="From afar")["groupId"]
    script = shop.script().report_result(summary="Heard you.")
    (agent,) = remote.call("run_agents", groupId=group, agents=[{"role": "coder", "prompt": script.prompt()}])["agents"]
    run = agent["agentId"]
    assert remote.call("wait_agent", agentIds=[run])["completed"][0]["result"]["summary"] == "Heard you."
    lead.ended(run)
    for tool, arguments in (
        ("get_agent_status", {"agentId": run}), ("get_agent_output", {"agentId": run}), ("list_roles", {}),
        ("list_agents", {"groupId": group}), ("wait_agent", {"agentIds": [run]}), ("cancel_agent", {"agentId": run}),
    ):  # fmt: skip
        assert remote.call(tool, **arguments) == lead.call(tool, **arguments).data
    assert remote.call("delete_group", groupId=group) == {"deleted": True, "groupId": group}


def test_refusals_have_the_same_shape_over_http(remote: HttpLead) -> None:
    said = remote.call("delete_group", groupId=MISSING_GROUP)
    assert (said["error"], said["code"], set(said)) == (True, "GROUP_NOT_FOUND", {"error", "code", "message"})


def test_a_wait_over_http_is_a_task_for_who_can_hold_one(shop: Shop, lead: Lead, host: Running) -> None:
    able = HttpLead(host, (shop.home / "token").read_text().strip(), TASKS)
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script().wait(gate))
    task = able.call("wait_agent", agentIds=[run])["taskId"]
    assert able.ask("tasks/get", {"taskId": task})[1]["result"]["status"] == "working"
    gate.touch()
    lead.ended(run)
    state = able.ask("tasks/get", {"taskId": task})[1]["result"]
    assert state["status"] == "completed"
    assert state["result"]["structuredContent"]["completed"][0]["agentId"] == run


def test_the_token_of_a_run_does_not_open_the_tools_of_a_lead(shop: Shop, lead: Lead, host: Running) -> None:
    gate = shop.gate()
    (run,) = lead.run(lead.group(), shop.script("inside").wait(gate))
    until(lambda: shop.records("start", "inside"))
    execution = shop.board.executions.show(run)
    token = shop.board.tokens.issue(Token("run", execution.agent_id, execution.project_id, run))
    status, _ = HttpLead(host, token).ask("tools/call", {"name": "list_agents", "arguments": {}})
    assert status == 403
    assert HttpLead(host, "wrong").ask("tools/call", {"name": "list_agents", "arguments": {}})[0] == 401
    gate.touch()
    lead.wait(run)


def test_a_run_reports_its_task_completed_with_its_own_token_and_no_session(
    shop: Shop, lead: Lead, host: Running
) -> None:
    (run,) = lead.run(lead.group(), shop.script("waits").hang())
    until(lambda: lead.status(run)["status"] == "running")
    execution = shop.board.executions.show(run)
    token = shop.board.tokens.issue(Token("run", execution.agent_id, execution.project_id, execution.id))
    own = HttpLead(host, token)

    def call(name: str, **arguments: Any) -> Any:
        status, answer = own.ask("tools/call", {"name": name, "arguments": arguments}, "/mcp/worker")
        assert status == 200, answer
        return answer["result"]["structuredContent"]

    assert call("report_completed", result="failed", summary="It rains.")["success"]
    assert call("logout")["success"]

    assert lead.status(run)["result"] | {"status": "failure", "summary": "It rains."} == lead.status(run)["result"]
    lead.call("cancel_agent", agentId=run)


def test_no_secret_of_a_run_is_kept_in_what_it_printed(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), shop.script("leaks").say("My token is {{env:KUMI_RUN_TOKEN}}."))
    lead.ended(run)
    (start,) = shop.records("start", "leaks")
    token = start["environment"]["KUMI_RUN_TOKEN"]
    assert len(token) > 20
    assert token not in str(lead.status(run))
    assert token not in str(lead.call("get_agent_output", agentId=run).data)
    kept = [path for path in (shop.home / "runs" / run).rglob("*") if path.is_file()]
    assert kept
    assert [path for path in kept if token.encode() in path.read_bytes()] == []


def test_everything_works_on_either_database(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path, database)
    try:
        lead, gate = shop.lead(), shop.gate()
        planned = lead.plan(
            lead.group("sequential"),
            [shop.script().wait(gate).report_result(summary="First.")],
            [shop.script("second")],
        )
        runs = [agent["agentId"] for agent in planned["agents"]]
        asked = lead.send_call("wait_agent", agentIds=runs)
        assert lead.status(runs[1])["status"] == "queued"
        gate.touch()
        answer = lead.receive()
        assert answer["id"] == asked
        assert len(answer["result"]["structuredContent"]["completed"]) == 2
        assert "First." in shop.records("start", "second")[0]["prompt"]
        (stuck,) = lead.run(lead.group(), shop.script("stuck").hang())
        until(lambda: shop.records("start", "stuck"))
        assert lead.call("cancel_agent", agentId=stuck)["cancelled"] is True
        shop.kill_host()
        (run,) = lead.run(lead.group(), shop.script())
        assert lead.wait(run)["completed"][0]["status"] == "completed"
    finally:
        shop.close()


def test_a_rate_limit_with_a_stated_end_holds_back_its_client_and_no_other(open_shop: OpenShop) -> None:
    shop = open_shop()
    lead = shop.lead()
    (limited,) = lead.run(lead.group(), shop.script().rate_limit(resets_in=600.0))
    (state,) = lead.ended(limited)
    assert state["failureReason"] == "rate_limited"
    assert list(shop.board.hosts.parked()) == ["claude-code"]
    (held,) = lead.run(lead.group(), shop.script("held"))
    (other,) = lead.run(lead.group(), shop.script(), role="tester")
    assert lead.wait(other)["completed"][0]["status"] == "completed"
    assert (lead.status(held)["status"], shop.records("start", "held")) == ("queued", [])
    assert lead.call("cancel_agent", agentId=held)["cancelled"] is True


def test_messages_that_are_piped_in_are_answered_though_the_pipe_is_closed(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path, database)
    try:
        group = shop.lead().group()
        calls = [
            ("run_agents", {"groupId": group, "agents": [{"role": "coder", "prompt": shop.script().prompt()}]}),
            ("list_roles", {}),
        ]
        greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}}
        asked = [("initialize", greeting)] + [
            ("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls
        ]
        piped = [
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            for number, (method, params) in enumerate(asked)
        ]
        done = subprocess.run(
            [sys.executable, "-m", "kumihimo", "mcp", "serve", "--toolset", "lead"],
            input="\n".join([*piped, ""]), capture_output=True, text=True, cwd=shop.folder, env=shop.environment,
            check=True, timeout=BOUND_SECONDS,
        )  # fmt: skip
        answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
        assert [answers[number]["result"].get("isError") for number in (1, 2)] == [False, False]
    finally:
        shop.close()
