"""A lead in an editor: MCP by hand with a real stdio server of a home, which may be doomed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.mcp.client import REVISION, StdioClient

from .home import HERE, Home


class Lead(StdioClient):
    """`kumi mcp serve`; with kills it dies where they say."""

    def __init__(self, home: Home, *kills: dict[str, Any]) -> None:
        words = [sys.executable, "-m", "kumihimo", "mcp", "serve", "--toolset", "lead"]
        if kills:
            words = [sys.executable, str(HERE / "doomed.py"), json.dumps({"role": "stdio", "kills": list(kills)})]
        self.process = home.spawn(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._count = 0
        client = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.greeting = self.request("initialize", client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def run_agents(self, home: Home, prompts: list[str]) -> list[str]:
        """The ids of the agents."""
        group = self.call("create_group", description="twenty")["groupId"]
        agents = [{"role": "codex", "prompt": prompt} for prompt in prompts]
        return [agent["agentId"] for agent in self.call("run_agents", groupId=group, agents=agents)["agents"]]
