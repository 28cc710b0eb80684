"""Through the hub and back: how far a server is, and what it wants to know of the person at the client."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hub.hub_kit import Scripted
from tests.mcp.client import StdioClient
from tests.mcp.http_door import MODERN, HttpDoor

SERVER = Path(__file__).parents[1] / "hub" / "asking_server.py"
CAPABLE = {"elicitation": {}}


def asking(folder: Path) -> dict[str, Any]:
    return {"name": "asking", "command": sys.executable, "args": [str(SERVER), str(folder / "greeted")]}


def put(folder: Path, *servers: dict[str, Any]) -> None:
    (folder / "mcp.config.yaml").write_text(yaml.safe_dump({"servers": list(servers)}))


class Client(StdioClient):
    """One at which a person can be asked."""

    capabilities = CAPABLE

    def converse(self, name: str, arguments: dict[str, Any], **more: Any) -> tuple[Any, list[dict[str, Any]]]:
        """The result of a call, and everything that came before it; questions are answered with a name."""
        self._count += 1
        params = {"name": name, "arguments": arguments, **more}
        self._send({"jsonrpc": "2.0", "id": self._count, "method": "tools/call", "params": params})
        before: list[dict[str, Any]] = []
        while (message := self.receive()).get("id") != self._count or "method" in message:
            before.append(message)
            if message.get("method") == "elicitation/create":
                answer = {"action": "accept", "content": {"name": "Ada"}}
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": answer})
        return message["result"], before


@pytest.mark.parametrize("tool", ["asking", "old"])
def test_what_a_server_of_either_era_asks_is_answered_by_the_client_that_called(tmp_path: Path, tool: str) -> None:
    put(tmp_path, asking(tmp_path), Scripted(tmp_path, "old", {"name": "greet", "does": "ask"}).config)
    with Client(tmp_path / "home", tmp_path, "hub", "--expose", "all") as client:
        client.tools()
        result, before = client.converse(f"{tool}__greet", {})
        assert [message["method"] for message in before] == ["elicitation/create"]
        said = result["content"][0]["text"]
        assert said == "accept: Ada" if tool == "asking" else json.loads(said)["content"] == {"name": "Ada"}
        through, _ = client.converse("hub_call", {"tool": f"{tool}:greet", "params": {}})
        assert "Ada" in json.dumps(through["structuredContent"]["data"])


def test_a_server_that_asks_whom_nobody_can_ask_is_told_so_and_the_call_ends(tmp_path: Path) -> None:
    put(tmp_path, asking(tmp_path), Scripted(tmp_path, "old", {"name": "greet", "does": "ask"}).config)
    with StdioClient(tmp_path / "home", tmp_path, "hub") as client:
        answers = [
            client.request("tools/call", {"name": "hub_call", "arguments": {"tool": name, "params": {}}})
            for name in ("old:greet", "asking:greet")
        ]
        assert json.loads(answers[0]["structuredContent"]["data"][0]["text"]) == {"action": "cancel"}
        assert answers[1]["structuredContent"]["success"] is False
    assert not (tmp_path / "greeted").exists()


def test_how_far_a_server_is_reaches_the_client_before_the_answer(tmp_path: Path) -> None:
    put(tmp_path, Scripted(tmp_path, "slow", {"name": "work", "does": "progress"}).config)
    with Client(tmp_path / "home", tmp_path, "hub", "--expose", "all") as client:
        client.tools()
        for name, arguments in (("slow__work", {}), ("hub_call", {"tool": "slow:work", "params": {}})):
            result, before = client.converse(name, arguments, _meta={"progressToken": "mine"})
            assert result["isError"] is False
            told = [message["params"] for message in before if message["method"] == "notifications/progress"]
            assert told == [{"progressToken": "mine", "progress": step, "total": 2} for step in (1.0, 2.0)]


def test_a_stateless_client_is_asked_by_a_result_and_the_call_is_carried_out_once(
    door: HttpDoor, tmp_path: Path
) -> None:
    folder = Path(door.town.alpha.working_directory)
    put(folder, asking(tmp_path), Scripted(tmp_path, "old", {"name": "greet", "does": "ask"}).config)

    def call(tool: str, **more: Any) -> Any:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": CAPABLE,
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        }
        params = {"name": "hub_call", "arguments": {"tool": tool, "params": {}}, "_meta": meta, **more}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "hub_call"}
        return door.ask("POST", "/mcp/hub?project=alpha", door.owner, body, **headers).result

    asked = call("asking:greet")
    assert asked["resultType"] == "input_required"
    ((key, question),) = asked["inputRequests"].items()
    assert question["params"]["message"] == "What is your name?"
    assert not (tmp_path / "greeted").exists()
    answer = {"action": "accept", "content": {"name": "Ada"}}
    done = call("asking:greet", inputResponses={key: answer}, requestState=asked["requestState"])
    assert done["structuredContent"]["data"][0]["text"] == "accept: Ada"
    assert (tmp_path / "greeted").read_text() == "greeted\n"
    # One that waits in the middle of its work can't be asked to begin again.
    old = call("old:greet")
    assert json.loads(old["structuredContent"]["data"][0]["text"]) == {"action": "cancel"}
