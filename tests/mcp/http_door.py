"""The HTTP door of a town, spoken to by hand."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from kumihimo.services.hosting import Running, find_running
from tests.mcp.town import Town

MODERN = "2026-07-28"


class Response(Struct):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def result(self) -> Any:
        return json.loads(self.body)["result"]

    @property
    def said(self) -> Any:
        """What a tool answered or refused, from its text."""
        return json.loads(self.result["content"][0]["text"])


class HttpDoor(Struct):
    town: Town
    running: Running
    process: subprocess.Popen[bytes]

    @property
    def owner(self) -> str:
        return (self.town.home / "token").read_text().strip()

    def ask(self, method: str, path: str, token: str | None, body: Any = None, **headers: str) -> Response:
        connection = http.client.HTTPConnection("127.0.0.1", self.running.port, timeout=30)
        sent = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        read = Response(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        connection.close()
        return read

    def call(self, path: str, token: str | None, tool: str, /, **arguments: Any) -> Response:
        """A stateless call."""
        return self._stateless(path, token, "tools/call", {"name": tool, "arguments": arguments}, **{"mcp-name": tool})

    def ask_tools(self, path: str, token: str | None) -> list[str]:
        """The names of the tools that are shown there."""
        return [tool["name"] for tool in self._stateless(path, token, "tools/list", {}).result["tools"]]

    @contextmanager
    def listening(self, path: str, token: str, notifications: dict[str, Any]) -> Iterator[Iterator[Any]]:
        """The messages of a subscription, as they come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.running.port, timeout=60)
        body, headers = stateless_request("subscriptions/listen", {"notifications": notifications})
        headers |= {"authorization": f"Bearer {token}"}
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        try:
            yield (json.loads(line[6:]) for line in answer if line.startswith(b"data: "))
        finally:
            answer.close()
            connection.close()

    def _stateless(self, path: str, token: str | None, method: str, params: Any, **headers: str) -> Response:
        body, own = stateless_request(method, params)
        return self.ask("POST", path, token, body, **own, **headers)


def stateless_request(method: str, params: Any) -> tuple[Any, dict[str, str]]:
    """A request of the stateless revision, and its headers."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN, "mcp-method": method,
    }  # fmt: skip
    return body, headers


def open_door(town: Town, *words: str) -> Iterator[HttpDoor]:
    environment = {"KUMI_HOME": str(town.home), "KUMI_DB": town.database, "PATH": os.environ["PATH"]}
    process = subprocess.Popen(
        [sys.executable, "-m", "kumihimo", "up", "--port", "0", *words],
        stdout=subprocess.PIPE,
        cwd=town.home.parent,
        env=environment,
    )
    assert process.stdout is not None
    # It says where it is once it listens.
    assert b"http://127.0.0.1:" in process.stdout.readline()
    running = find_running(town.home)
    assert running is not None
    yield HttpDoor(town, running, process)
    if process.poll() is None:
        process.terminate()
    process.wait(30)
    process.stdout.close()
