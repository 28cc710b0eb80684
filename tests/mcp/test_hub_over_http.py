"""The hub over HTTP: agents reach that of their project with the token of their run, and every call is on record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kumihimo.domain.execution import Execution
from kumihimo.domain.hub_call import KIND, HubCall
from kumihimo.domain.project import Project
from kumihimo.domain.token import Token
from kumihimo.services.wish import Wish
from tests.hub.hub_kit import Scripted
from tests.mcp.http_door import HttpDoor
from tests.mcp.town import Town
from tests.supervisor.patience import until

PATH = "/mcp/hub,worker"


def put(project: Project, *servers: Scripted) -> None:
    file = Path(project.working_directory) / "mcp.config.yaml"
    file.write_text(yaml.safe_dump({"servers": [server.config for server in servers]}))


def run_of(town: Town, folder: Path | None = None, project: Project | None = None) -> tuple[Execution, str]:
    """A run that nobody claims, and its token: here it is only spoken for."""
    task = town.task(project=project)
    run = town.board.executions.enqueue(
        Wish(town.dev.agent, "instance", task=task, working_directory=str(folder) if folder else None)
    )
    assert run is not None
    run = town.board.executions.start(run.id, run.fence)
    return run, town.board.tokens.issue(Token("run", run.agent_id, run.project_id, run.id))


def hub_call(door: HttpDoor, token: str, tool: str, path: str = PATH, **params: Any) -> Any:
    return door.call(path, token, "hub_call", tool=tool, params=params).result["structuredContent"]


def kept(town: Town) -> list[HubCall]:
    events = town.board.store.events_after(None, 10_000)
    return [msgspec.json.decode(event.data, type=HubCall) for event in events if event.kind == KIND]


def test_a_run_has_the_hub_of_its_project_beside_its_own_work_and_no_other(door: HttpDoor, tmp_path: Path) -> None:
    town = door.town
    put(town.alpha, Scripted(tmp_path, "ours", {"name": "echo"}))
    put(town.beta, Scripted(tmp_path, "theirs", {"name": "echo"}))
    _, token = run_of(town)
    assert hub_call(door, token, "ours:echo", a=1)["success"] is True
    assert hub_call(door, token, "theirs:echo")["error"]["code"] == "TOOL_NOT_FOUND"
    there = hub_call(door, token, "theirs:echo", f"{PATH}?project={town.beta.id}")
    assert there["error"]["code"] == "TOOL_NOT_FOUND"
    assert door.call(PATH, token, "save_context", progress="half of it").said["success"] is True
    assert door.call("/mcp/hub,manager", token, "hub_servers").status == 403
    # The owner says which project is meant.
    assert hub_call(door, door.owner, "theirs:echo", "/mcp/hub?project=beta")["success"] is True


def test_every_call_is_kept_with_its_run_its_time_its_size_and_its_outcome(door: HttpDoor, tmp_path: Path) -> None:
    town = door.town
    put(town.alpha, Scripted(tmp_path, "ours", {"name": "echo"}, {"name": "bad", "does": "error"}))
    run, token = run_of(town)
    hub_call(door, token, "ours:echo", a=1)
    hub_call(door, token, "ours:bad")
    hub_call(door, token, "nowhere")
    batch = [{"tool": "ours:echo", "params": {}}, {"tool": "ours:echo", "params": {}}]
    door.call("/mcp/hub?project=alpha", door.owner, "hub_batch", calls=batch)
    until(lambda: len(kept(town)) == 5)
    first, bad, nowhere, *rest = kept(town)
    assert (first.server, first.tool, first.outcome, first.attempts) == ("ours", "echo", "ok", 1)
    assert (first.execution_id, first.project_id) == (run.id, town.alpha.id)
    assert first.duration_ms > 0
    assert (first.sent_bytes, first.received_bytes > 20) == (len('{"a":1}'), True)
    assert (bad.outcome, nowhere.outcome, nowhere.server) == ("EXECUTION_FAILED", "TOOL_NOT_FOUND", None)
    assert [(call.execution_id, call.outcome) for call in rest] == [(None, "ok"), (None, "ok")]
    actors = [event.actor for event in town.board.store.events_after(None, 10_000) if event.kind == KIND]
    assert actors == [town.dev.agent.id] * 3 + ["owner"] * 2


def test_an_agent_uses_only_what_the_settings_of_its_project_allow(door: HttpDoor, tmp_path: Path) -> None:
    town = door.town
    tools = ({"name": "read"}, {"name": "write"})
    ours, others = Scripted(tmp_path, "ours", *tools), Scripted(tmp_path, "others", *tools)
    put(town.alpha, ours, others)
    settings = Path(town.alpha.working_directory) / "kumi.toml"
    settings.write_text('[agents.dev.hub]\nallow = ["ours"]\ndeny = ["ours:write"]\n')
    _, token = run_of(town)
    listed = door.call(PATH, token, "hub_search").result["structuredContent"]["tools"]
    assert [tool["name"] for tool in listed] == ["ours:read"]
    assert hub_call(door, token, "ours:read")["success"] is True
    # The bare name is not ambiguous for who has only one of them.
    assert hub_call(door, token, "read")["success"] is True
    for name in ("ours:write", "others:read"):
        assert hub_call(door, token, name)["error"]["code"] == "CANNOT_EXECUTE"
    assert ours.calls("write") + others.calls("read") == 0
    servers = door.call(PATH, token, "hub_servers").result["structuredContent"]["servers"]
    assert [server["name"] for server in servers] == ["ours"]
    exposed = door.ask_tools(f"{PATH}?expose=all", token)
    assert {name for name in exposed if "__" in name} == {"ours__read"}
    # For the owner nothing of that counts.
    assert hub_call(door, door.owner, "others:write", "/mcp/hub?project=alpha")["success"] is True


def test_two_agents_never_share_a_server_that_holds_the_state_of_a_folder(door: HttpDoor, tmp_path: Path) -> None:
    town = door.town
    stateful = Scripted(tmp_path, "stateful", {"name": "where", "does": "environment"}, config={"per_worktree": True})
    shared = Scripted(tmp_path, "shared", {"name": "where", "does": "environment"})
    put(town.alpha, stateful, shared)
    places = [tmp_path / "one", tmp_path / "two"]
    for folder in places:
        folder.mkdir()
        _, token = run_of(town, folder)
        for _ in range(2):
            said = json.loads(hub_call(door, token, "stateful:where")["data"][0]["text"])
            assert said["cwd"] == str(folder)
            hub_call(door, token, "shared:where")
    assert len(stateful.pids) == 2
    assert len(shared.pids) == 1


def test_tools_of_servers_are_shown_over_http_to_who_asks_for_them(door: HttpDoor, tmp_path: Path) -> None:
    town = door.town
    put(town.alpha, Scripted(tmp_path, "ours", {"name": "number", "does": "structured"}))
    _, token = run_of(town)
    assert not [name for name in door.ask_tools(PATH, token) if "__" in name]
    assert "ours__number" in door.ask_tools(f"{PATH}?expose=all", token)
    passed = door.call(f"{PATH}?expose=all", token, "ours__number").result
    assert passed["structuredContent"] == {"n": 1}
    assert passed["resultType"] == "complete"


def test_an_instance_of_a_runner_is_told_where_the_hub_of_its_project_is(door: HttpDoor, tmp_path: Path) -> None:
    town = door.town
    town.task()
    pair = {"agent_id": town.dev.agent.id, "project_id": town.alpha.id}

    def start(name: str) -> dict[str, Any]:
        return door.call("/mcp/runner", door.owner, "report_instance", **pair, instance_id=name, state="starting").said

    assert "mcp_path" not in start("i1")
    door.call("/mcp/runner", door.owner, "report_instance", **pair, instance_id="i1", state="exited", exit_code=0)
    stateful = Scripted(tmp_path, "ours", {"name": "where", "does": "environment"}, config={"per_worktree": True})
    put(town.alpha, stateful)
    told = start("i2")
    assert told["mcp_path"] == PATH
    place = tmp_path / "place"
    place.mkdir()
    where = {"instance_id": "i2", "state": "alive", "working_directory": str(place)}
    door.call("/mcp/runner", door.owner, "report_instance", **pair, **where)
    said = hub_call(door, told["instance_token"], "ours:where")
    assert json.loads(said["data"][0]["text"])["cwd"] == str(place)


def test_who_sees_the_tools_of_other_servers_over_http_is_told_when_there_are_others(
    door: HttpDoor, tmp_path: Path
) -> None:
    put(door.town.alpha, Scripted(tmp_path, "ours", {"name": "change", "does": "change"}))
    path = "/mcp/hub?project=alpha&expose=all"
    assert "ours__fresh" not in door.ask_tools(path, door.owner)
    with door.listening(path, door.owner, {"toolsListChanged": True}) as messages:
        assert next(messages)["method"] == "notifications/subscriptions/acknowledged"
        assert hub_call(door, door.owner, "ours:change", path, name="fresh")["success"] is True
        assert next(messages)["method"] == "notifications/tools/list_changed"
    assert "ours__fresh" in door.ask_tools(path, door.owner)
