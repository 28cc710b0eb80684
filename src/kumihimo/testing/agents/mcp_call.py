"""A call of an MCP tool over HTTP, as an agent CLI makes it: the handshake, then the call."""

from __future__ import annotations

import time

from kumihimo.testing.agents import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kumihimo.testing.agents.servers import Server

_REVISION = "2025-11-25"
_PAUSE = 0.05
_PATIENCE = 120.0


class CallFailed(Exception):
    """No answer could be had: nobody there, or an answer that is none."""


class Connection:
    """One conversation with a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._session: str | None = None
        self._opened = False
        self._count = 0

    def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> tuple[bool, str]:
        """Whether it went well, and the text of the answer. Where nobody answers, it is tried again for that long."""
        until = time.monotonic() + seconds
        while True:
            try:
                self._open()
                result = self._ask("tools/call", {"name": tool, "arguments": arguments})
            except (OSError, CallFailed) as reason:
                self._opened = False
                if time.monotonic() >= until:
                    return False, f"{type(reason).__name__}: {reason}"
                time.sleep(_PAUSE)
                continue
            texts = [block.get("text", "") for block in result.get("content", [])]
            return not result.get("isError", False), "\n".join(texts)

    def _open(self) -> None:
        if self._opened:
            return
        self._session = None
        about = {"name": "scripted-agent", "version": "1.0"}
        self._ask("initialize", {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": about})
        self._opened = True
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        status, body = self._post({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        for message in _messages(body):
            if message.get("id") == self._count and "result" in message:
                return message["result"]
            if "error" in message:
                # The server has understood and refuses: to ask again would change nothing.
                return {"isError": True, "content": [{"text": json_text.dumps(message["error"])}]}
        raise CallFailed(f"HTTP {status}: {body[:200]}")

    def _post(self, message: dict[str, Any]) -> tuple[int, str]:
        body = json_text.line(message)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers.update(self._server.headers)
        if self._opened:
            headers["MCP-Protocol-Version"] = _REVISION
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        status, given, text = post(self._server.url, headers, body)
        self._session = given.get("mcp-session-id", self._session)
        return status, text


def _messages(body: str) -> list[dict[str, Any]]:
    """The messages of a plain answer, or of a stream of events."""
    if body.lstrip().startswith("{"):
        return [json_text.loads(body)]
    lines = [line[5:].strip() for line in body.splitlines() if line.startswith("data:")]
    return [json_text.loads(line) for line in lines if line.startswith("{")]


def post(url: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], str]:
    """Status, headers and text. By a bare socket: the standard library's client costs more than the whole agent."""
    import socket

    scheme, _, rest = url.partition("://")
    if scheme != "http":
        raise CallFailed(f"only http: {url}")
    place, slash, path = rest.partition("/")
    host, _, port = place.rpartition(":") if ":" in place else (place, "", "80")
    lines = [
        f"POST {slash + path or '/'} HTTP/1.1",
        f"Host: {place}",
        "Connection: close",
        f"Content-Length: {len(body)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        parts: list[bytes] = []
        while part := connection.recv(1 << 16):
            parts.append(part)
    return _response(b"".join(parts))


def _response(raw: bytes) -> tuple[int, dict[str, str], str]:
    head, gap, body = raw.partition(b"\r\n\r\n")
    if not gap:
        raise CallFailed("the connection was cut")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    if "chunked" in headers.get("transfer-encoding", ""):
        body = _unchunked(body)
    return int(first.split()[1]), headers, body.decode("utf-8", "replace")


def _unchunked(body: bytes) -> bytes:
    parts: list[bytes] = []
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size.split(b";")[0] or b"0", 16)
        if length == 0:
            break
        parts.append(body[:length])
        body = body[length + 2 :]
    return b"".join(parts)
