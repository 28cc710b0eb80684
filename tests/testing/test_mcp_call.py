"""The scripted agent finds the MCP server where its CLI would, and calls it with the token of its run."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kumihimo.engine.agents.client import Door, Order
from kumihimo.engine.agents.registry import find
from kumihimo.testing.scripts import CLIENTS, Script, records
from tests.testing.runs import SECONDS, begin, run, until

TOKEN = "run-token-of-a-test"


class Board(ThreadingHTTPServer):
    """An MCP server that takes every call and keeps what it was asked."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.calls: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/mcp/worker"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Board

    def log_message(self, *words: Any) -> None:
        pass

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.answer(401, {"error": "no token"})
        if message["method"] == "initialize":
            result: dict[str, Any] = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {}}
        elif message["method"] == "tools/call":
            assert self.headers["Mcp-Session-Id"] == "signed"
            self.server.calls.append(message["params"])
            text = json.dumps({"registered": True, "number": len(self.server.calls)})
            result = {"content": [{"type": "text", "text": text}], "isError": message["params"]["name"] == "refused"}
        else:
            return self.answer(202, None)
        return self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    def answer(self, status: int, body: Any) -> None:
        data = b"" if body is None else b"event: message\ndata: " + json.dumps(body).encode() + b"\n\n"
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Mcp-Session-Id", "signed")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in (data[:10], data[10:]):
            if part:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")


@pytest.fixture
def board() -> Iterator[Board]:
    made = Board()
    yield made
    made.shutdown()
    made.server_close()


# Cursor is given no server: it has no place for one that is ours to write.
@pytest.mark.parametrize("name", [client for client in CLIENTS if client != "cursor"])
def test_it_reports_where_the_product_points_it(name: str, board: Board, tmp_path: Path) -> None:
    private = tmp_path / "private"
    order = Order(
        prompt=Script("one", log=tmp_path / "log").report_result(summary="All done.").prompt("You are exec_0123456789ab."),
        working_directory=tmp_path, private_folder=private, door=Door(board.url), home=tmp_path,
    )  # fmt: skip
    start = find("command" if name == "text" else name).start(order)
    for path, text in start.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = {**start.environment, "KUMI_RUN_TOKEN": TOKEN, "HOME": str(tmp_path)}

    done = run(name, start.stdin, tmp_path, *start.argv, environment=environment)

    assert done.returncode == 0, done.stderr
    arguments = {"agentId": "exec_0123456789ab", "status": "success", "summary": "All done."}
    assert board.calls == [{"name": "report_result", "arguments": arguments}]
    (record,) = records(tmp_path / "log", "mcp")
    assert record["ok"] is True
    assert TOKEN not in done.stdout.decode()


def test_a_later_call_can_use_an_earlier_answer(board: Board, tmp_path: Path) -> None:
    script = Script().mcp("first").mcp("second", number="{{answer:first.number}}", who="{{env:USER_NAME}} in {{cwd}}")
    environment = {"KUMI_MCP_URL": board.url, "KUMI_RUN_TOKEN": TOKEN, "USER_NAME": "Aoi"}

    run("text", script, tmp_path, environment=environment)

    assert board.calls[1]["arguments"] == {"number": "1", "who": f"Aoi in {tmp_path}"}


def test_a_call_that_is_refused_is_told_as_failed_and_not_repeated(board: Board, tmp_path: Path) -> None:
    script = Script(log=tmp_path / "log").mcp("refused").say("I go on.")

    done = run("codex", script, tmp_path, environment={"KUMI_MCP_URL": board.url, "KUMI_RUN_TOKEN": TOKEN})

    assert len(board.calls) == 1
    assert records(tmp_path / "log", "mcp")[0]["ok"] is False
    assert b"I go on." in done.stdout


def test_it_tries_again_until_the_server_is_there(tmp_path: Path) -> None:
    closed = Board()
    port = closed.server_address[1]
    closed.shutdown()
    closed.server_close()
    here = tmp_path / "here"
    script = Script(log=tmp_path / "log").touch(here).mcp("report_result", seconds=SECONDS)
    environment = {**os.environ, "KUMI_MCP_URL": closed.url, "KUMI_RUN_TOKEN": TOKEN}
    started = begin("text", script, tmp_path, **environment)
    until(here.exists)

    board = Board(port)
    started.communicate(timeout=SECONDS)
    board.shutdown()
    board.server_close()

    assert [call["name"] for call in board.calls] == ["report_result"]
    assert records(tmp_path / "log", "mcp")[0]["ok"] is True


def test_a_server_that_nobody_gave_is_said(tmp_path: Path) -> None:
    run("claude-code", Script(log=tmp_path / "log").mcp("report_result"), tmp_path)

    assert records(tmp_path / "log", "mcp")[0]["answer"] == "no MCP server was given"
