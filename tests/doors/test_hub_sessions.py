"""Servers behind the hub that remember a session: it is bound to the host that began it, and any other door says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from kumihimo.domain.token import Token
from tests.doors.house import Entrance, Session
from tests.hub.hub_kit import Scripted
from tests.mcp.http_door import stateless_request
from tests.supervisor.patience import until

PATH = "/mcp/hub?project=project"
CALL = {"tool": "remembering:echo", "params": {}}


def put(doors: list[Entrance], *servers: Scripted) -> None:
    file = Path(doors[0].home.project.working_directory) / "mcp.config.yaml"
    file.write_text(yaml.safe_dump({"servers": [server.config for server in servers]}))


def remembering(folder: Path) -> Scripted:
    return Scripted(folder, "remembering", {"name": "echo"}, resources=[{"uri": "a://b", "name": "b", "text": "c"}])


def hub_call(session: Session, door: Entrance, tool: str) -> dict[str, Any]:
    return session.call(door, "hub_call", tool=tool, params={})["result"]["structuredContent"]


def test_a_hub_session_with_a_server_that_remembers_is_bound_to_its_host_and_says_so(
    doors: list[Entrance], tmp_path: Path
) -> None:
    one, two = doors
    server = remembering(tmp_path)
    put(doors, server)
    session = Session(one, one.token, PATH)
    assert hub_call(session, one, "remembering:echo")["success"] is True
    refused = hub_call(session, two, "remembering:echo")
    assert refused["error"]["code"] == "CANNOT_EXECUTE"
    assert f"host one (http://127.0.0.1:{one.port})" in refused["error"]["message"]
    assert refused["error"]["retryable"] is False
    assert server.calls("echo") == 1
    read = session.call(two, "hub_read_resource", server="remembering", uri="a://b")["result"]
    assert read["isError"] is True
    assert "host one" in read["content"][0]["text"]
    # Back home it goes on, and a session of the other door's own works there.
    assert hub_call(session, one, "remembering:echo")["success"] is True
    own = Session(two, two.token, PATH)
    for _ in range(3):
        assert hub_call(own, two, "remembering:echo")["success"] is True
    # All is at hand there by now: a short way for the door's own sessions, and none for this one, whoever comes with it.
    session.token = two.token
    assert hub_call(session, two, "remembering:echo")["error"] == refused["error"]
    assert server.calls("echo") == 5
    assert len(server.pids) == 2


def test_tools_that_are_shown_as_ours_are_bound_as_well(doors: list[Entrance], tmp_path: Path) -> None:
    one, two = doors
    put(doors, remembering(tmp_path))
    session = Session(one, one.token, f"{PATH}&expose=all")
    assert "remembering__echo" in session.tools(two)
    assert session.call(one, "remembering__echo")["result"].get("isError") is not True
    refused = session.call(two, "remembering__echo")["result"]
    assert refused["isError"] is True
    assert "host one" in refused["content"][0]["text"]
    own = Session(two, two.token, f"{PATH}&expose=all")
    for _ in range(3):
        assert own.call(two, "remembering__echo")["result"].get("isError") is not True
    session.token = two.token
    assert session.call(two, "remembering__echo")["result"] == refused


def test_a_server_that_remembers_nothing_is_called_through_any_door(doors: list[Entrance], tmp_path: Path) -> None:
    one, two = doors
    server = Scripted(tmp_path, "forgetful", {"name": "echo"}, stateless=True)
    put(doors, server)
    session = Session(one, one.token, PATH)
    for door in (one, two, one, two):
        assert hub_call(session, door, "forgetful:echo")["success"] is True
    assert server.calls("echo") == 4


def test_a_client_without_a_session_is_bound_to_nothing(doors: list[Entrance], tmp_path: Path) -> None:
    server = remembering(tmp_path)
    put(doors, server)
    body, headers = stateless_request("tools/call", {"name": "hub_call", "arguments": CALL})
    for door in doors:
        answer = door.ask("POST", PATH, doors[0].token, body, **headers, **{"mcp-name": "hub_call"})
        assert json.loads(answer.body)["result"]["structuredContent"]["success"] is True


def test_an_answer_that_another_host_waits_for_is_refused_and_says_which(doors: list[Entrance]) -> None:
    """What a server behind the hub has asked its caller is known where it was asked."""
    one, two = doors
    session = Session(one, one.token, PATH)
    refused = session.answer(two, "kumi-1")
    assert refused.status == 409
    assert one.host_id in refused.body.decode()
    assert session.answer(one, "kumi-1").status == 202


def test_the_hub_of_a_run_is_on_its_host_and_another_door_says_so(doors: list[Entrance], tmp_path: Path) -> None:
    put(doors, remembering(tmp_path))
    home, gate = doors[0].home, doors[0].home.folder / "gate"
    (run,) = home.run(home.script("at work").wait(gate))
    home.until_status(run, "running")
    now = home.show(run)
    token = home.board.tokens.issue(Token("run", now.agent_id, now.project_id, now.id))
    body, headers = stateless_request("tools/call", {"name": "hub_call", "arguments": CALL})
    said = {
        door.host_id: json.loads(door.ask("POST", "/mcp/hub", token, body, **headers, **{"mcp-name": "hub_call"}).body)
        for door in doors
    }
    gate.touch()
    home.ended([run])
    own = said.pop(now.host_id or "")["result"]
    assert own["structuredContent"]["success"] is True
    (other,) = said.values()
    told = json.loads(other["result"]["content"][0]["text"])
    names = {door.host_id: name for door, name in zip(doors, ("one", "two"), strict=True)}
    assert told["error"]["code"] == "CANNOT_EXECUTE"
    assert f"{run.id} runs on the host {names[now.host_id or '']}" in told["error"]["message"]
    until(lambda: not home.alive(), "the end of it")
