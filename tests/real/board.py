"""A stand-in for our own MCP server, made with the official library: it takes reports, and wants a token."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn
from mcp.server import MCPServer

TOKEN = "token-of-a-real-run"


class Board:
    def __init__(self) -> None:
        self.url = ""
        self.reports: list[dict[str, str]] = []
        self.refused = 0

    def application(self) -> Any:
        server = MCPServer("kumihimo")

        @server.tool()
        def report_result(agentId: str, status: str, summary: str) -> dict[str, Any]:  # noqa: N803 - its name on the wire
            """Say what came of the work."""
            self.reports.append({"agentId": agentId, "status": status, "summary": summary})
            return {"registered": True, "agentId": agentId}

        inner = server.streamable_http_app()

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != f"Bearer {TOKEN}".encode():
                self.refused += 1
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
            await inner(scope, receive, send)

        return guarded


@contextlib.contextmanager
def open_board() -> Iterator[Board]:
    """Serves until the end of the block."""
    board = Board()
    listening = socket.create_server(("127.0.0.1", 0))
    board.url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    server = uvicorn.Server(uvicorn.Config(board.application(), log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield board
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(30)
        listening.close()
