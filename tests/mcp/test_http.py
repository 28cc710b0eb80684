"""The HTTP door: who gets in where, and that it comes and goes as it should."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from kumihimo.domain.token import Token
from kumihimo.services.hosting import find_running
from tests.mcp.http_door import HttpDoor


def test_health_needs_no_token_and_everything_else_does(door: HttpDoor) -> None:
    assert json.loads(door.ask("GET", "/healthz", None).body)["status"] == "ok"
    for token in (None, "wrong", ""):
        assert door.call("/mcp/manager", token, "list_projects").status == 401
    assert door.call("/mcp/manager", door.owner, "list_projects").said["success"] is True
    assert (door.town.home / "token").stat().st_mode & 0o077 == 0


def test_a_token_for_less_opens_nothing_else(door: HttpDoor) -> None:
    tokens = door.town.board.tokens
    runner = tokens.issue(Token("runner"))
    assert door.call("/mcp/runner", runner, "health_check").status == 200
    for path in ("/mcp", "/mcp/manager", "/mcp/worker", "/mcp/editor", "/mcp/runner,manager"):
        assert door.call(path, runner, "health_check").status == 403


def test_an_instance_logs_in_as_its_own_agent_and_no_other(door: HttpDoor) -> None:
    town = door.town
    town.task()
    pair = {"agent_id": town.dev.agent.id, "project_id": town.alpha.id}
    started = door.call("/mcp/runner", door.owner, "report_instance", **pair, instance_id="i1", state="starting").said
    instance = started["instance_token"]
    assert door.call("/mcp/manager", instance, "list_projects").status == 403
    wrong = door.call(
        "/mcp/worker",
        instance,
        "authenticate",
        agent_id=town.rev.agent.id,
        passkey=town.rev.passkey,
        project_id=town.alpha.id,
    )
    assert wrong.said["error"] == "Invalid agent_id or passkey"
    right = door.call("/mcp/worker", instance, "authenticate", **pair, passkey=town.dev.passkey).result[
        "structuredContent"
    ]
    assert right["success"] is True
    other = door.call(
        "/mcp/worker",
        door.owner,
        "authenticate",
        agent_id=town.rev.agent.id,
        passkey=town.rev.passkey,
        project_id=town.alpha.id,
    )
    stolen = other.said["session_token"]
    refused = door.call("/mcp/worker", instance, "get_my_task", session_token=stolen).said
    assert refused["error"] == "Invalid or expired session_token"
    door.call("/mcp/runner", door.owner, "report_instance", **pair, instance_id="i1", state="exited", exit_code=0)
    assert door.call("/mcp/worker", instance, "get_my_task", session_token=right["session_token"]).status == 401


def test_a_run_speaks_for_itself_without_a_session_and_only_while_it_lives(door: HttpDoor) -> None:
    town = door.town
    task = town.task()
    from kumihimo.services.wish import Wish

    # Of a kind that no supervisor claims: here it is only spoken for.
    run = town.board.executions.enqueue(Wish(town.dev.agent, "instance", task=task))
    assert run is not None
    run = town.board.executions.start(run.id, run.fence)
    token = town.board.tokens.issue(Token("run", run.agent_id, run.project_id, run.id))
    assert door.call("/mcp/worker", token, "save_context", progress="from the run").said["success"]
    said = door.call("/mcp/worker", token, "report_result", status="success", summary="done").result[
        "structuredContent"
    ]
    assert (said["registered"], said["agentId"]) == (True, run.id)
    refused = door.call(
        "/mcp/worker", token, "report_result", agentId="exec_other", status="success", summary="x"
    ).result
    assert refused["isError"] is True
    assert door.call("/mcp/manager", token, "list_projects").status == 403
    town.board.executions.cancel(run.id, run.fence)
    over = door.call("/mcp/worker", token, "save_context", progress="too late").said
    assert over["error"] == "Invalid or expired session_token"


def test_foreign_hosts_and_origins_are_refused(door: HttpDoor) -> None:
    for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
        assert door.ask("POST", "/mcp/manager", door.owner, {}, **headers).status == 403


def test_the_project_is_that_of_the_url_else_the_only_one(door: HttpDoor) -> None:
    unclear = door.call("/mcp/editor", door.owner, "task_list")
    assert json.loads(unclear.body)["error"]["code"] == -32006
    door.town.task("in beta", project=door.town.beta)
    listed = door.call("/mcp/editor?project=beta", door.owner, "task_list").said
    assert [task["title"] for task in listed["tasks"]] == ["in beta"]


def test_what_is_not_there_is_not_found(door: HttpDoor) -> None:
    assert door.call("/", door.owner, "x").status == 405
    for path in ("/nothing", "/mcp/nothing", "/mcp/resident", "/mcp/manager,resident", "/mcp//x"):
        assert door.call(path, door.owner, "x").status == 404


def test_it_is_one_per_home_and_ends_when_told(door: HttpDoor) -> None:
    environment = {"KUMI_HOME": str(door.town.home), "KUMI_DB": door.town.database, "PATH": os.environ["PATH"]}
    kumi = [sys.executable, "-m", "kumihimo"]
    again = subprocess.run(
        [*kumi, "up"], capture_output=True, text=True, env=environment, timeout=60, cwd=door.town.home
    )
    assert (again.returncode, door.running.url in again.stdout) == (0, True)
    status = subprocess.run(
        [*kumi, "status", "--json"], capture_output=True, text=True, env=environment, timeout=60, cwd=door.town.home
    )
    assert (json.loads(status.stdout)["url"], json.loads(status.stdout)["pid"]) == (door.running.url, door.process.pid)
    down = subprocess.run(
        [*kumi, "down"], capture_output=True, text=True, env=environment, timeout=60, cwd=door.town.home
    )
    assert down.returncode == 0
    assert door.process.wait(30) == 0
    assert find_running(door.town.home) is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_by_a_signal_and_a_killed_one_is_known_to_be_gone(door: HttpDoor, number: signal.Signals) -> None:
    door.process.send_signal(number)
    assert door.process.wait(30) == 0
    assert find_running(door.town.home) is None


def test_a_session_of_an_old_revision_is_good_at_any_door_of_the_board(door: HttpDoor) -> None:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    opened = door.ask(
        "POST", "/mcp/manager", door.owner, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}
    )
    session = opened.headers["mcp-session-id"]
    owner = door.owner
    door.process.kill()
    door.process.wait(30)
    environment = {"KUMI_HOME": str(door.town.home), "KUMI_DB": door.town.database, "PATH": os.environ["PATH"]}
    second = subprocess.Popen(
        [sys.executable, "-m", "kumihimo", "up", "--port", "0"],
        stdout=subprocess.PIPE,
        env=environment,
        cwd=door.town.home,
    )
    try:
        assert second.stdout is not None
        second.stdout.readline()
        running = find_running(door.town.home)
        assert running is not None
        other = HttpDoor(door.town, running, second)
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_projects"}}
        headers = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
        assert other.ask("POST", "/mcp/manager", owner, call, **headers).status == 200
        assert (
            other.ask("POST", "/mcp/manager", owner, call, **{**headers, "mcp-session-id": session + "x"}).status == 404
        )
    finally:
        second.terminate()
        second.wait(30)
        if second.stdout:
            second.stdout.close()
