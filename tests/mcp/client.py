"""A client that speaks MCP by hand: lines on a pipe to a real `kumi mcp serve`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import msgspec

REVISION = "2025-11-25"


class RpcRefusal(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']} {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Answer(msgspec.Struct):
    """What a tool answered."""

    data: dict[str, Any]
    is_error: bool

    def __getitem__(self, key: str) -> Any:
        return self.data[key]


class StdioClient:
    """`with StdioClient(home, folder, "manager") as client: client.call("get_task", task_id=…)`"""

    capabilities: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, home: Path, folder: Path, toolset: str | None = None, *words: str, database: str | None = None
    ) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KUMI_")}
        environment |= {"KUMI_HOME": str(home), "KUMI_LANG": "en"}
        if database is not None:
            environment["KUMI_DB"] = database
        chosen = ["--toolset", toolset] if toolset else []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kumihimo", "mcp", "serve", *chosen, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment,
        )  # fmt: skip
        self._count = 0
        client = {
            "protocolVersion": REVISION,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        }
        try:
            self.greeting = self.request("initialize", client)
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> int:
        """The exit code after the end of input."""
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        with contextlib.closing(self.process.stdout), contextlib.closing(self.process.stderr):
            # Who has ended takes nothing any more.
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            return self.process.wait(30)

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        self.process.wait(30)
        return self.close()

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        self._count += 1
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params or {}})
        assert self.process.stdout
        while line := self.process.stdout.readline():
            message = msgspec.json.decode(line)
            if message.get("id") == self._count:
                if "error" in message:
                    raise RpcRefusal(message["error"])
                return message["result"]
        assert self.process.stderr
        raise EOFError(self.process.stderr.read().decode())

    def send_call(self, name: str, /, **arguments: Any) -> int:
        """Ask without waiting for the answer; its id."""
        self._count += 1
        params = {"name": name, "arguments": arguments}
        self._send({"jsonrpc": "2.0", "id": self._count, "method": "tools/call", "params": params})
        return self._count

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout
        return msgspec.json.decode(self.process.stdout.readline())

    def call(self, name: str, /, **arguments: Any) -> Answer:
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        text = msgspec.json.decode(result["content"][0]["text"])
        # A refusal is text alone: it would not fit the schema of an answer.
        assert result.get("structuredContent") == (None if result["isError"] else text)
        return Answer(text, result["isError"])

    def tools(self) -> dict[str, Any]:
        return {tool["name"]: tool for tool in self.request("tools/list")["tools"]}

    def read(self, uri: str) -> dict[str, Any]:
        return self.request("resources/read", {"uri": uri})["contents"][0]

    def prompt(self, name: str, **arguments: str) -> str:
        return self.request("prompts/get", {"name": name, "arguments": arguments})["messages"][0]["content"]["text"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(msgspec.json.encode(message) + b"\n")
        self.process.stdin.flush()
