"""Two homes on one PostgreSQL, each with a door of its own, and somebody who may go to either."""

from __future__ import annotations

import http.client
import json
import os
import signal
from typing import Any

from msgspec import Struct

from kumihimo.services.host_name import host_id
from tests.mcp.http_door import Response
from tests.supervisor.home import Home
from tests.supervisor.patience import until

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


class Entrance(Struct):
    """The door of one home."""

    home: Home

    @property
    def port(self) -> int:
        return self.home.running().port

    @property
    def token(self) -> str:
        return (self.home.place / "token").read_text().strip()

    @property
    def host_id(self) -> str:
        return host_id(self.home.place)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, token: str | None = None, body: Any = None, **headers: str) -> Response:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {"accept": "application/json, text/event-stream", **headers}
        if body is not None:
            sent["content-type"] = "application/json"
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        read = Response(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        connection.close()
        return read

    def api(self, operation: str, token: str, **arguments: Any) -> Response:
        return self.ask("POST", f"/api/v1/{operation}", token, arguments)

    def restart(self) -> None:
        """Ended in peace, and up again on another port."""
        found = self.home.running()
        os.kill(found.process.pid, signal.SIGTERM)
        self.home.processes[-1].wait(60)
        self.home.up()

    def wait_until_known(self) -> None:
        """Others know that it is there, where, and whose it is."""
        until(lambda: self._row() is not None, "the host")

    def _row(self) -> Any:
        rows = [view.host for view in self.home.board.hosts.list() if view.host.id == self.host_id]
        return next((row for row in rows if row.token_hash and row.url), None)


class Visitor:
    """A client with the token of one home, which may go to another door with each call."""

    def __init__(self, doors: list[Entrance], token: str) -> None:
        self.doors = doors
        self.token = token
        self._turn = 0

    def next(self) -> Entrance:
        self._turn += 1
        return self.doors[self._turn % len(self.doors)]

    def api(self, operation: str, **arguments: Any) -> Any:
        answer = self.next().api(operation, self.token, **arguments)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)


class Session:
    """A session of a revision with a handshake, begun at one door and used at any."""

    def __init__(self, door: Entrance, token: str, path: str) -> None:
        self.token = token
        self._path = path
        self._count = 0
        answer = self._ask(door, "initialize", HELLO)
        self._id = answer.headers["mcp-session-id"]
        self._ask(door, "notifications/initialized", {})

    def call(self, door: Entrance, tool: str, /, **arguments: Any) -> Any:
        answer = self._ask(door, "tools/call", {"name": tool, "arguments": arguments})
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    def tools(self, door: Entrance) -> list[str]:
        return [tool["name"] for tool in json.loads(self._ask(door, "tools/list", {}).body)["result"]["tools"]]

    def answer(self, door: Entrance, question: str) -> Response:
        """What a server wanted to know."""
        return self._send(door, {"jsonrpc": "2.0", "id": question, "result": {"action": "decline"}})

    def _ask(self, door: Entrance, method: str, params: Any) -> Response:
        self._count += 1
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            message["id"] = self._count
        return self._send(door, message)

    def _send(self, door: Entrance, message: dict[str, Any]) -> Response:
        headers = {"mcp-protocol-version": "2025-11-25"} | ({"mcp-session-id": self._id} if self._count > 1 else {})
        return door.ask("POST", self._path, self.token, message, **headers)
