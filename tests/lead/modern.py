"""A client of the stateless revision on stdio: no handshake, everything stands in each request."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Self

import msgspec

from tests.lead.shop import Shop
from tests.mcp.client import RpcRefusal

REVISION = "2026-07-28"
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


def meta(capabilities: dict[str, Any]) -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }


class ModernClient:
    def __init__(self, shop: Shop, capabilities: dict[str, Any] | None = None) -> None:
        self._meta = meta(TASKS if capabilities is None else capabilities)
        self._count = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kumihimo", "mcp", "serve", "--toolset", "lead"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=shop.folder, env=shop.environment,
        )  # fmt: skip

    def request(self, method: str, **params: Any) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": {**params, "_meta": self._meta}}
        self.process.stdin.write(msgspec.json.encode(message) + b"\n")
        self.process.stdin.flush()
        answer = msgspec.json.decode(self.process.stdout.readline())
        assert answer["id"] == self._count
        if "error" in answer:
            raise RpcRefusal(answer["error"])
        return answer["result"]

    def call(self, name: str, /, **arguments: Any) -> Any:
        return self.request("tools/call", name=name, arguments=arguments)

    def kill(self) -> None:
        self.process.kill()
        self.close()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()
        self.process.wait(30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
