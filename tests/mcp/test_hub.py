"""The `hub` toolset on stdio: other servers through one door, and their own tools beside ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kumihimo.hub.exposing import exposed_name
from tests.hub.hub_kit import READ, Scripted, alive
from tests.mcp.client import StdioClient
from tests.supervisor.patience import until

ADD = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
LONG = "a_tool_whose_name_is_so_long_that_no_model_would_take_it_beside_that_of_its_server"


class Place:
    """A project with servers behind its hub, and clients of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.home = folder / "home"
        self.scripts = folder
        self.file = self.folder / "mcp.config.yaml"
        self.clients: list[StdioClient] = []
        self.servers: dict[str, Scripted] = {}

    def server(
        self, name: str, *tools: dict[str, Any], config: dict[str, Any] | None = None, **script: Any
    ) -> Scripted:
        self.servers[name] = Scripted(self.scripts, name, *tools, config=config, **script)
        self.write()
        return self.servers[name]

    def write(self) -> None:
        self.file.write_text(yaml.safe_dump({"servers": [server.config for server in self.servers.values()]}))

    def client(self, *words: str) -> StdioClient:
        self.clients.append(StdioClient(self.home, self.folder, "hub", *words))
        return self.clients[-1]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for client in made.clients:
        client.close()


def called(client: StdioClient, name: str, /, **arguments: Any) -> Any:
    """What a tool answered, success or not."""
    result = client.request("tools/call", {"name": name, "arguments": arguments})
    return result.get("structuredContent") or json.loads(result["content"][0]["text"])


def test_the_ten_tools_reach_what_is_behind_the_hub(place: Place) -> None:
    place.server(
        "alpha",
        {"name": "add", "inputSchema": ADD, "description": "Adds numbers."},
        {"name": "look", **READ},
        prompts=[{"name": "greet", "arguments": [{"name": "who"}]}],
        resources=[{"uri": "note://one", "name": "one"}],
    )
    place.server("beta", {"name": "write", "description": "Writes what was added."})
    hub = place.client()
    assert {tool for tool in hub.tools() if tool.startswith("hub_")} == set(hub.tools())
    assert len(hub.tools()) == 10
    assert [(it["name"], it["state"]) for it in called(hub, "hub_servers")["servers"]] == [
        ("alpha", "idle"),
        ("beta", "idle"),
    ]
    assert [it["name"] for it in called(hub, "hub_search", query="add")["tools"]] == ["alpha:add", "beta:write"]
    assert [it["name"] for it in called(hub, "hub_search", server="alpha", limit=1)["tools"]] == ["alpha:add"]
    assert called(hub, "hub_describe", tool="add")["inputSchema"] == ADD
    answer = called(hub, "hub_call", tool="alpha:add", params={"a": 1})
    assert json.loads(answer["data"][0]["text"]) == {"tool": "add", "arguments": {"a": 1}}
    assert answer["metadata"] | {"executionTime": 0} == {
        "executionTime": 0,
        "server": "alpha",
        "attempts": 1,
        "cached": False,
    }
    calls = [{"tool": "alpha:add", "params": {"a": "x"}}, {"tool": "beta:write", "params": {}}]
    batch = called(hub, "hub_batch", calls=calls, maxParallel=1)["results"]
    assert [it["success"] for it in batch] == [False, True]
    assert [it["name"] for it in called(hub, "hub_prompts")["prompts"]] == ["greet"]
    filled = called(hub, "hub_get_prompt", server="alpha", name="greet", args={"who": "Ada"})
    assert filled["messages"][0]["content"]["text"] == "good day Ada"
    assert [it["uri"] for it in called(hub, "hub_resources")["resources"]] == ["note://one"]
    assert called(hub, "hub_read_resource", server="alpha", uri="note://one")["contents"][0]["text"] == "read 1"
    used = called(hub, "hub_stats")
    assert [(it["name"], it["calls"], it["tools"]) for it in used["servers"]] == [("alpha", 2, 2), ("beta", 1, 1)]
    assert used["schemaTokens"] == sum(it["schemaTokens"] for it in used["servers"]) > 20
    assert used["overBudget"] is False
    assert hub.process.stdin
    assert hub.process.stderr
    hub.process.stdin.close()
    said = hub.process.stderr.read()
    hub.close()
    # Who starts us reads there what went wrong.
    assert said == b""


def test_a_failed_call_is_an_error_that_says_why_and_whether_to_try_again(place: Place) -> None:
    place.server("alpha", {"name": "add", "inputSchema": ADD}, {"name": "bad", "does": "error"})
    place.server("gone", config={"command": "/no/such/program"})
    hub = place.client()
    result = hub.request("tools/call", {"name": "hub_call", "arguments": {"tool": "alpha:add", "params": {"a": "x"}}})
    assert result["isError"] is True
    assert result["structuredContent"] == json.loads(result["content"][0]["text"])
    error = result["structuredContent"]["error"]
    assert (error["code"], error["retryable"]) == ("INVALID_PARAMS", False)
    assert called(hub, "hub_call", tool="alpha:bad", params={})["error"]["message"] == "the tool itself failed"
    for name, arguments, code in (
        ("hub_describe", {"tool": "alpha:nope"}, "TOOL_NOT_FOUND"),
        ("hub_read_resource", {"server": "alpha", "uri": "note://none"}, "RESOURCE_NOT_FOUND"),
        ("hub_search", {"server": "nobody"}, "INVALID_PARAMS"),
        # What is not installed is not there the next time either.
        ("hub_search", {"server": "gone"}, "CONNECTION_FAILED"),
    ):
        refused = hub.request("tools/call", {"name": name, "arguments": arguments})
        assert refused["isError"] is True
        error = json.loads(refused["content"][0]["text"])["error"]
        assert (error["code"], error["retryable"]) == (code, False)


def test_tools_of_servers_are_listed_under_short_names_and_their_answers_passed_on(place: Place) -> None:
    place.server(
        "alpha",
        {"name": "add", "inputSchema": ADD, "annotations": {"readOnlyHint": True}, "title": "Add"},
        {"name": "number", "does": "structured"},
        {"name": "bad", "does": "error"},
        {"name": LONG},
    )
    hub = place.client("--expose", "all")
    tools = hub.tools()
    short = next(name for name in tools if name.startswith("alpha__a_tool"))
    assert len(short) == 64
    assert tools["alpha__add"] == {
        "name": "alpha__add",
        "inputSchema": ADD,
        "annotations": {"readOnlyHint": True},
        "title": "Add",
    }
    passed = hub.request("tools/call", {"name": "alpha__number", "arguments": {}})
    assert passed == {
        "content": [{"type": "text", "text": "for people"}],
        "structuredContent": {"n": 1},
        "isError": False,
    }
    failed = hub.request("tools/call", {"name": "alpha__bad", "arguments": {}})
    assert failed == {"content": [{"type": "text", "text": "the tool itself failed"}], "isError": True}
    refused = hub.request("tools/call", {"name": "alpha__add", "arguments": {}})
    assert refused["isError"] is True
    assert refused["content"][0]["text"].startswith("INVALID_PARAMS: ")
    assert place.servers["alpha"].calls("add") == 0
    assert hub.request("tools/call", {"name": short, "arguments": {}})["isError"] is False
    assert place.servers["alpha"].calls(LONG) == 1


def test_two_tools_with_one_short_name_spoil_the_list_for_no_other(place: Place) -> None:
    place.server("a", {"name": "_b"}, {"name": "a tool"}, {"name": exposed_name("a", "a tool").removeprefix("a__")})
    place.server("a_", {"name": "b"})
    hub = place.client("--expose", "all")
    tools = [name for name in hub.tools() if not name.startswith("hub_")]
    # Where one name could be made of two, only one is as it stands; of two that are made alike on purpose the first counts.
    assert sorted(tools) == sorted({"a___b", exposed_name("a_", "b"), exposed_name("a", "a tool")})
    assert hub.request("tools/call", {"name": exposed_name("a_", "b"), "arguments": {}})["isError"] is False
    assert hub.request("tools/call", {"name": "a___b", "arguments": {}})["isError"] is False
    assert (place.servers["a_"].calls("b"), place.servers["a"].calls("_b")) == (1, 1)


def test_a_tool_of_a_shape_that_no_client_reads_spoils_the_list_for_no_other(place: Place) -> None:
    wrong = [
        {"name": "none", "inputSchema": None, "description": None, "title": None, "annotations": None, "_meta": None},
        {"name": "text", "inputSchema": "object", "description": 5, "outputSchema": "text"},
        {"name": "list", "inputSchema": {"type": "array"}, "outputSchema": {"type": "array"}},
        {"name": "open", "inputSchema": {"properties": {"a": {}}}},
        {"name": "hints", "annotations": {"readOnlyHint": "true", "title": 5, "idempotentHint": True, "more": 1}},
    ]
    place.server(
        "alpha", *wrong, {"name": "null", "does": "count", "more": {"content": None, "structuredContent": None}}
    )
    hub = place.client("--expose", "all")
    tools = {name.removeprefix("alpha__"): tool for name, tool in hub.tools().items() if name.startswith("alpha__")}
    plain = {"type": "object"}
    assert [{**tools[tool["name"]], "name": ""} for tool in wrong] == [
        {"name": "", "inputSchema": plain},
        {"name": "", "inputSchema": plain},
        {"name": "", "inputSchema": plain},
        {"name": "", "inputSchema": {"properties": {"a": {}}, "type": "object"}},
        {"name": "", "inputSchema": plain, "annotations": {"idempotentHint": True, "more": 1}},
    ]
    answer = hub.request("tools/call", {"name": "alpha__null", "arguments": {}})
    assert answer == {"content": [], "isError": False}


def test_clients_are_told_when_servers_offer_other_tools(place: Place) -> None:
    place.server("alpha", {"name": "change", "does": "change"})
    hub = place.client("--expose", "all")
    assert "alpha__fresh" not in hub.tools()
    number = hub.send_call("alpha__change", name="fresh")
    heard = [hub.receive(), hub.receive()]
    assert {message.get("method") or message.get("id") for message in heard} == {
        "notifications/tools/list_changed",
        number,
    }
    # Also who has not asked for the list again can call it.
    assert hub.request("tools/call", {"name": "alpha__fresh", "arguments": {}})["isError"] is False
    assert "alpha__fresh" in hub.tools()


def test_a_running_hub_sees_servers_come_and_go_and_keeps_the_others(place: Place) -> None:
    alpha = place.server("alpha", {"name": "echo"})
    hub = place.client()
    assert called(hub, "hub_call", tool="alpha:echo", params={})["success"]
    beta = place.server("beta", {"name": "echo"})
    until(lambda: called(hub, "hub_call", tool="beta:echo", params={})["success"])
    del place.servers["beta"]
    place.write()
    until(lambda: called(hub, "hub_call", tool="beta:echo", params={})["success"] is False)
    until(lambda: not any(map(alive, beta.pids)))
    # Also one that only stands elsewhere in the file.
    place.servers = {"gamma": place.server("gamma", {"name": "echo"}), "alpha": alpha}
    place.write()
    until(lambda: called(hub, "hub_call", tool="gamma:echo", params={})["success"])
    assert called(hub, "hub_call", tool="alpha:echo", params={})["success"]
    assert len(alpha.pids) == 1


def test_a_server_that_was_taken_out_ends_though_nobody_calls_any_more(place: Place) -> None:
    alpha, beta = place.server("alpha", {"name": "echo"}), place.server("beta", {"name": "echo"})
    hub = place.client()
    for name in ("alpha", "beta"):
        assert called(hub, "hub_call", tool=f"{name}:echo", params={})["success"]
    del place.servers["beta"]
    place.write()
    until(lambda: not any(map(alive, beta.pids)))
    assert all(map(alive, alpha.pids))


def test_a_mistake_in_the_file_of_a_running_hub_changes_nothing_and_is_told(place: Place) -> None:
    place.server("alpha", {"name": "echo"})
    hub = place.client()
    assert called(hub, "hub_call", tool="alpha:echo", params={})["success"]
    assert "problem" not in called(hub, "hub_servers")
    good = place.file.read_text()
    place.file.write_text("servers: [")
    assert hub.process.stderr is not None

    def complained() -> bool:
        assert called(hub, "hub_call", tool="alpha:echo", params={})["success"]
        os.set_blocking(hub.process.stderr.fileno(), False)  # type: ignore[union-attr]
        return b"stay as they were" in (hub.process.stderr.read() or b"")  # type: ignore[union-attr]

    until(complained)
    assert f"{place.file}:1: " in called(hub, "hub_servers")["problem"]
    place.file.write_text(good.replace("name: alpha", "name: gamma"))
    until(lambda: called(hub, "hub_call", tool="gamma:echo", params={})["success"])
    assert "problem" not in called(hub, "hub_servers")


@pytest.mark.parametrize("line", ["transport: pigeon", "url: ${NO_SUCH}"])
def test_a_mistake_in_the_configuration_keeps_the_door_shut_and_is_told_with_its_line(place: Place, line: str) -> None:
    place.file.write_text(f"servers:\n  - name: a\n    {line}\n")
    environment = {**os.environ, "KUMI_HOME": str(place.home), "KUMI_LANG": "en"}
    done = subprocess.run(
        [sys.executable, "-m", "kumihimo", "mcp", "serve", "--toolset", "hub"],
        cwd=place.folder, env=environment, input=b"", capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert b"mcp.config.yaml:3" in done.stderr


def test_the_door_of_a_project_that_was_named_looks_at_the_files_of_that_project(place: Place) -> None:
    place.file.write_text("servers:\n  - name: a\n    tiemout: 5\n")
    environment = {**os.environ, "KUMI_HOME": str(place.home), "KUMI_LANG": "en"}
    kumi = [sys.executable, "-m", "kumihimo"]
    subprocess.run([*kumi, "project", "add", "shop", "--dir", str(place.folder)], env=environment, check=True)
    (elsewhere := place.home.parent / "elsewhere").mkdir()
    done = subprocess.run(
        [*kumi, "--project", "shop", "mcp", "serve", "--toolset", "hub"],
        cwd=elsewhere, env=environment, input=b"", capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert f"{place.file}:3".encode() in done.stderr


def test_the_door_opens_also_while_the_board_is_not_there(place: Place) -> None:
    environment = {**os.environ, "KUMI_HOME": str(place.home), "KUMI_LANG": "en"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    said = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}, request]
    done = subprocess.run(
        [sys.executable, "-m", "kumihimo", "--db", "postgresql://nobody@127.0.0.1:9/none", "mcp", "serve", "--toolset", "hub"],
        cwd=place.folder, env=environment, input="\n".join(map(json.dumps, said)).encode() + b"\n", capture_output=True,
        check=False,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [len(answer["result"].get("tools", [])) for answer in answers] == [0, 10]


@pytest.mark.parametrize("end", ["input", "SIGTERM", "SIGKILL"])
def test_no_server_outlives_the_door_however_it_ends(place: Place, end: str) -> None:
    alpha = place.server("alpha", {"name": "child", "does": "child"}, stubborn=True)
    hub = place.client()
    pids = json.loads(called(hub, "hub_call", tool="alpha:child", params={})["data"][0]["text"])
    assert all(map(alive, [*pids, *alpha.pids]))
    if end == "input":
        assert hub.close() == 0
    else:
        hub.stop(signal.Signals[end])
    until(lambda: not any(map(alive, [*pids, *alpha.pids])))


def test_a_named_file_replaces_those_of_the_project(place: Place) -> None:
    place.server("alpha", {"name": "echo"})
    other = place.scripts / "other.json"
    config = {key: place.servers["alpha"].config[key] for key in ("command", "args")}
    other.write_text(json.dumps({"mcpServers": {"other": config}}))
    hub = place.client("--config", str(other))
    assert [it["name"] for it in called(hub, "hub_servers")["servers"]] == ["other"]
