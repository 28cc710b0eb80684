"""Who may do what: every tool that needs a token refuses whoever has none, a wrong one, or one for elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from kumihimo.toolsets.registry import NAMES, toolset
from tests.mcp.client import RpcRefusal, StdioClient
from tests.mcp.town import Town

WITH_TOKEN = [tool.name for tool in toolset("worker").tools if tool.caller == "session_token"]
# Arguments that would be right, so that only the token is wrong.
RIGHT: dict[str, dict[str, Any]] = {
    "report_completed": {"result": "success"},
    "save_context": {"progress": "INTRUDER"},
    "create_handoff": {"summary": "INTRUDER"},
    "accept_handoff": {"handoff_id": "hnd_unknown"},
    "get_agent_profile": {"agent_id": "dev"},
    "report_result": {"status": "success", "summary": "INTRUDER"},
    "report_execution_start": {"task_id": "tsk_unknown"},
    "report_execution_complete": {"execution_id": "exec_unknown", "exit_code": 0},
}


def test_every_tool_of_a_worker_but_the_login_needs_a_token() -> None:
    assert {tool.name for tool in toolset("worker").tools} - set(WITH_TOKEN) == {"authenticate"}


def test_every_tool_refuses_no_token_a_made_up_one_and_one_that_is_over(town: Town) -> None:
    worker = town.client("worker")
    ended = town.login(worker)
    worker.call("logout", session_token=ended)
    town.task()
    before = town.board.store.newest_cursor()
    for name in WITH_TOKEN:
        for token in ({}, {"session_token": "sess_nonsense"}, {"session_token": ended}, {"session_token": ""}):
            answer = worker.call(name, **RIGHT.get(name, {}), **token)
            assert (name, answer.is_error, answer["error"]) == (name, True, "Invalid or expired session_token")
    assert town.board.store.newest_cursor() == before


def test_a_token_reaches_its_own_project_and_nothing_else(town: Town) -> None:
    worker = town.client("worker")
    mine, other = town.task("mine"), town.task("other", project=town.beta)
    foreign = town.board.handoffs.create(_at(town.beta.id), other.id, from_agent="dev", summary="in beta").handoff
    stranger = town.board.agents.add("stranger").agent
    token = town.login(worker)
    before = town.board.store.newest_cursor()
    attempts: list[tuple[str, dict[str, Any]]] = [
        ("save_context", {"task_id": other.id, "progress": "INTRUDER"}),
        ("get_task_context", {"task_id": other.id}),
        ("create_handoff", {"task_id": other.id, "summary": "INTRUDER"}),
        ("report_execution_start", {"task_id": other.id}),
        ("accept_handoff", {"handoff_id": foreign.id}),
        ("get_agent_profile", {"agent_id": stranger.id}),
        ("report_result", {"agentId": "exec_other", "status": "success", "summary": "x"}),
    ]
    for name, arguments in attempts:
        assert worker.call(name, session_token=token, **arguments).is_error, name
    events = [event for event in town.board.store.events_after(before) if event.kind != "session.touched"]
    assert events == []
    assert worker.call("get_my_task", session_token=token)["task"]["task_id"] == mine.id


def _at(project_id: str):
    from kumihimo.services.projects import Place

    return Place(project_id)


def test_an_agent_can_not_take_what_is_meant_for_another(town: Town) -> None:
    worker, task = town.client("worker"), town.task()
    made = town.board.handoffs.create(
        _at(town.alpha.id), task.id, from_agent="dev", to_agent="rev", summary="for rev"
    ).handoff
    refused = worker.call("accept_handoff", session_token=town.login(worker), handoff_id=made.id)
    assert refused.is_error
    assert refused["error"].startswith("Permission denied: ")


def test_two_logins_of_one_pair_are_one_session(town: Town) -> None:
    worker = town.client("worker")
    town.login(worker)
    arguments = {"agent_id": town.dev.agent.id, "passkey": town.dev.passkey, "project_id": town.alpha.id}
    assert worker.call("authenticate", **arguments)["error"] == "Agent instance already running for this project"
    assert worker.call("authenticate", **{**arguments, "passkey": "x"})["error"] == "Invalid agent_id or passkey"


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_refuses_an_argument_that_it_does_not_know(town: Town, name: str) -> None:
    words = ("--agent-id", town.dev.agent.id) if name == "resident" else ()
    client = town.client(name, *words)
    for tool, definition in client.tools().items():
        assert definition["inputSchema"]["additionalProperties"] is False, tool
        if tool == "wait_for_work":
            continue
        assert _refuses(client, tool), tool


def _refuses(client: StdioClient, tool: str) -> bool:
    """The dialect decides which kind of refusal it is."""
    try:
        return client.call(tool, colour="red").is_error
    except RpcRefusal as refusal:
        return refusal.code == -32602
