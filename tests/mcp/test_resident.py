"""S4: one agent for the life of a process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tests.mcp.client import RpcRefusal
from tests.mcp.town import Town


def test_a_resident_works_as_itself_and_its_session_ends_with_it(town: Town) -> None:
    task, other = town.task("sweep 掃除"), town.task("rev's own", assignee="rev")
    me = town.client("resident", "--agent-id", town.dev.agent.id)
    assert me.call("get_my_profile")["agent"]["name"] == "dev"
    assert {agent["name"] for agent in me.call("list_agents")["agents"]} == {"dev", "rev"}
    assert [t["task_id"] for t in me.call("get_my_tasks")["tasks"]] == [task.id]
    for kind in ("note", "decision", "assumption", "blocker", "reference", "artifact"):
        me.call("add_context", task_id=task.id, content=f"{kind} 覚書", type=kind)
    assert "artifact 覚書" in me.read(f"context://{task.id}")["text"]
    me.call(
        "create_handoff",
        task_id=task.id,
        to_agent_id=town.rev.agent.id,
        summary="half",
        next_steps=["attic"],
        warnings=["cat"],
    )
    shown = json.loads(me.read(f"handoff://{task.id}")["text"])
    assert (shown["summary"], shown["next_steps"], shown["warnings"]) == ("half", ["attic"], ["cat"])
    assert me.call("get_pending_handoffs")["handoffs"] == []
    assert (
        me.call("update_task_status", task_id=task.id, status="blocked", reason="no broom")["task"]["reason"]
        == "no broom"
    )
    assert town.dev.agent.id in me.read("agent://me")["text"]
    assert '"status":"live"' in me.read("session://current")["text"]
    start = me.prompt("session_start")
    assert "dev" in start
    assert "frontend" in start
    assert "[blocked] sweep 掃除" in start
    for name in ("task_start", "handoff_template"):
        assert "sweep 掃除" in me.prompt(name, task_id=task.id)
    assert me.prompt("session_end")
    with pytest.raises(RpcRefusal) as refusal:
        me.call("update_task_status", task_id=other.id, status="todo")
    assert (refusal.value.code, refusal.value.message.startswith("Permission denied: ")) == (-32000, True)
    me.call("end_session", summary="swept")
    with pytest.raises(RpcRefusal) as refusal:
        me.call("get_my_profile")
    assert refusal.value.code == -32000
    assert me.close() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_however_it_ends_the_agent_is_free_again(town: Town, number: signal.Signals) -> None:
    resident = town.client("resident", "--agent-id", town.dev.agent.id)
    session = json.loads(resident.read("session://current")["text"])["session_id"]
    code = resident.stop(number)
    assert code == (-9 if number == signal.SIGKILL else 0)
    worker = town.client("worker")
    assert town.login(worker)
    kept = town.board.store.read(lambda t: t.sessions.get(session))
    assert kept is not None
    assert kept.status == "ended"
    assert kept.end_reason == ("process_died" if number == signal.SIGKILL else "closed")
    if number != signal.SIGKILL:
        assert kept.summary == "The session was ended."


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such/method", {}, -32601),
        ("tools/call", {"name": "no_such_tool"}, -32602),
        ("tools/call", {"arguments": {}}, -32602),
        ("tools/call", {"name": "add_context", "arguments": {"task_id": "x", "content": "y", "type": "poem"}}, -32602),
        ("tools/call", {"name": "update_task_status", "arguments": {"task_id": "x"}}, -32602),
        ("prompts/get", {"name": "no_such_prompt"}, -32602),
        ("prompts/get", {"name": "task_start"}, -32602),
        (
            "tools/call",
            {"name": "add_context", "arguments": {"task_id": "tsk_unknown", "content": "y", "type": "note"}},
            -32000,
        ),
    ],
)
def test_refusals_are_json_rpc_errors(town: Town, method: str, params: dict[str, object], code: int) -> None:
    resident = town.client("resident", "--agent-id", town.dev.agent.id)
    with pytest.raises(RpcRefusal) as refusal:
        resident.request(method, params)
    assert refusal.value.code == code


def refused(town: Town, *words: str) -> tuple[int, str]:
    """How a resident server ends that can't begin."""
    ended = subprocess.run(
        [sys.executable, "-m", "kumihimo", "--db", town.database, "mcp", "serve", "--toolset", "resident", *words],
        capture_output=True, text=True, input="", cwd=town.alpha.working_directory, timeout=60,
        env={"KUMI_HOME": str(town.home), "PATH": "/usr/bin"},
    )  # fmt: skip
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--agent-id", "agt_nobody"), 5), (("--agent-id", ""), 5), ((), 2)],
)
def test_a_resident_needs_an_agent_that_is_there(town: Town, words: tuple[str, ...], code: int) -> None:
    ended, told = refused(town, *words)
    assert ended == code
    assert "agent" in told.lower()


def test_a_resident_that_can_not_work_here_is_told_why(town: Town) -> None:
    board = town.board
    rev = ("--agent-id", town.rev.agent.id)
    assert refused(town, *rev, "--project", "beta") == (
        3,
        "error: --agent-id: 'rev' is not in the project 'beta'. Add them: `kumi project assign beta rev`.\n",
    )
    board.projects.move("alpha", "archive")
    ended, told = refused(town, *rev)
    assert (ended, "kumi project resume alpha" in told) == (3, True)
    board.agents.archive("rev")
    ended, told = refused(town, *rev)
    assert (ended, "archived" in told) == (3, True)


def test_the_prompts_of_a_resident_name_the_tools_and_arguments_that_it_has(town: Town) -> None:
    resident, task = town.client("resident", "--agent-id", "dev"), town.task()
    tools = resident.tools()
    for name in ("task_start", "handoff_template"):
        told = str(resident.request("prompts/get", {"name": name, "arguments": {"task_id": task.id}}))
        assert "save_context" not in told
    assert "add_context" in tools
    for argument in ("summary", "next_steps", "warnings"):
        assert f"- {argument}:" in told
        assert argument in tools["create_handoff"]["inputSchema"]["properties"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": "get_my_profile", "arguments": []}),
        ("resources/read", {}),
        ("prompts/get", {"name": "task_start"}),
        ("prompts/get", {"name": "task_start", "arguments": {"task_id": 1}}),
    ],
)
def test_params_that_do_not_fit_are_called_so(town: Town, method: str, params: dict[str, object]) -> None:
    with pytest.raises(RpcRefusal, match="-32602 Invalid params"):
        town.client("resident", "--agent-id", "dev").request(method, params)


def test_a_resident_lists_its_project_by_id_or_name(town: Town) -> None:
    resident = town.client("resident", "--agent-id", "dev")
    for project in (town.alpha.id, town.alpha.name):
        assert town.rev.agent.id in str(resident.call("list_agents", project_id=project).data)
    with pytest.raises(RpcRefusal, match="Permission denied"):
        resident.call("list_agents", project_id=town.beta.id)


def test_a_resident_holds_the_pair_against_a_login(town: Town) -> None:
    town.client("resident", "--agent-id", "dev").call("get_my_profile")
    answer = town.client("worker").call(
        "authenticate", agent_id=town.dev.agent.id, passkey=town.dev.passkey, project_id=town.alpha.id
    )
    assert answer["error"] == "Agent instance already running for this project"
