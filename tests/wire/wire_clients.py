"""Ways to speak to a server by hand: a process on stdio, and the ASGI application in this process."""

import asyncio
import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wire_kit import BOUND, initialize, stateless

from kumihimo.wire.http import HttpServer


class StdioClient:
    """Speaks by hand to a server process."""

    def __init__(self, *arguments: str) -> None:
        script = Path(__file__).with_name("wire_stdio_server.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input = self.process.stdin
        self._output = self.process.stdout.fileno()
        self._buffer = b""

    def send(self, *messages: Any) -> None:
        self.send_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def send_bytes(self, data: bytes) -> None:
        self._input.write(data)

    def read_more(self) -> None:
        ready, _, _ = select.select([self._output], [], [], BOUND)
        assert ready, f"nothing came; so far {self._buffer!r}"
        data = os.read(self._output, 1 << 16)
        assert data, f"the server closed its output; so far {self._buffer!r}"
        self._buffer += data

    def receive(self) -> Any:
        while b"\n" not in self._buffer:
            self.read_more()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def receive_framed(self) -> Any:
        while b"\r\n\r\n" not in self._buffer:
            self.read_more()
        header, _, rest = self._buffer.partition(b"\r\n\r\n")
        assert header.startswith(b"Content-Length: ")
        length = int(header.removeprefix(b"Content-Length: "))
        self._buffer = rest
        while len(self._buffer) < length:
            self.read_more()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return json.loads(body)

    def exchange(self, message: Any) -> Any:
        self.send(message)
        return self.receive()

    def answer_of(self, request_id: int | str) -> Any:
        while True:
            message = self.receive()
            if message.get("id") == request_id:
                return message

    def finish(self) -> tuple[int, str]:
        """End the input; the exit code, and what was written to standard error."""
        with contextlib.suppress(BrokenPipeError):
            self._input.close()
        code = self.process.wait(BOUND)
        assert self.process.stderr is not None
        return code, self.process.stderr.read().decode()


@contextlib.contextmanager
def stdio_client(*arguments: str, revision: str | None = "2025-11-25", **capabilities: Any) -> Iterator[StdioClient]:
    client = StdioClient(*arguments)
    try:
        if revision is not None:
            answer = client.exchange(initialize(revision, **capabilities))
            assert answer["result"]["protocolVersion"] == revision
            client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield client
    finally:
        client.process.kill()
        client.process.wait()
        for stream in (client.process.stdin, client.process.stdout, client.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Reply:
    """What an HTTP request was answered, as it comes."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.done = asyncio.Event()
        self.moved = asyncio.Event()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The messages of an event stream so far."""
        return [
            json.loads(line[5:])
            for line in self.body.decode().split("\n")
            if line.startswith("data:") and line[5:].strip()
        ]

    @property
    def event_ids(self) -> list[str]:
        return [line[3:].strip() for line in self.body.decode().split("\n") if line.startswith("id:")]


class HttpClient:
    """Speaks by hand to the ASGI application, in this process."""

    def __init__(self, app: HttpServer) -> None:
        self.app = app
        self.session = ""
        self.revision = ""

    async def begin(self, revision: str = "2025-11-25", **capabilities: Any) -> Any:
        reply = await self.post(initialize(revision, **capabilities))
        self.session = reply.headers["mcp-session-id"]
        self.revision = revision
        assert (await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})).status == 202
        return reply.json["result"]

    async def post(self, message: Any, **headers: str) -> Reply:
        reply, task = self.start("POST", message, **headers)
        async with asyncio.timeout(BOUND):
            await task
        return reply

    def start(self, method: str, message: Any = None, **headers: str) -> tuple[Reply, "asyncio.Task[None]"]:
        """Begin a request; cancel the task's `gone` to hang up."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        reply = Reply()
        sent = {
            "host": "127.0.0.1:9",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        if self.session:
            sent |= {"mcp-session-id": self.session, "mcp-protocol-version": self.revision}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        scope = {
            "type": "http",
            "method": method,
            "path": "/mcp",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in sent.items() if value],
        }
        gone = asyncio.Event()
        reply.hang_up = gone.set  # type: ignore[attr-defined]
        bodies = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if bodies:
                return bodies.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                reply.status = message["status"]
                reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                reply.body += message.get("body", b"")
                if not message.get("more_body", False):
                    reply.done.set()
            reply.moved.set()

        return reply, asyncio.ensure_future(self.app(scope, receive, send))

    async def post_stateless(self, message: dict[str, Any], *, capabilities: Any = None, **headers: str) -> Reply:
        return await self.post(stateless(message, **(capabilities or {})), **stateless_headers(message), **headers)


def stateless_headers(message: dict[str, Any]) -> dict[str, str]:
    params = message.get("params", {})
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": message["method"]}
    named = params.get("name") or params.get("uri") or params.get("taskId")
    return headers | ({"mcp_name": named} if named else {})


async def until(condition: Any) -> None:
    """Wait until something becomes true, within the bound."""
    deadline = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.001)
