"""A server that has S1's three calls and nothing else, made with the official library: it is asked again and again."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from kumihimo.testing import scripts
from kumihimo.testing.scripts import Script
from tests.runner.yard import Yard
from tests.supervisor.patience import until

pytest.importorskip("mcp", reason="the official library `mcp` is not installed")


class S1Server:
    """S1's words, in a few lines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls: list[str] = []
        self.startable = True

    def application(self) -> Any:
        from mcp.server import MCPServer

        server = MCPServer("s1")

        @server.tool()
        def health_check() -> dict[str, Any]:
            self.calls.append("health_check")
            return {"status": "ok", "version": "1.0.0", "timestamp": "2025-01-06T10:00:00Z"}

        @server.tool()
        def list_active_projects_with_agents() -> dict[str, Any]:
            self.calls.append("list_active_projects_with_agents")
            one = {
                "project_id": "prj_s1",
                "project_name": "S1",
                "working_directory": str(self.folder),
                "agents": ["agt_s1"],
            }
            return {"success": True, "projects": [one]}

        @server.tool()
        def should_start(agent_id: str, project_id: str) -> dict[str, Any]:
            self.calls.append("should_start")
            if not self.startable:
                return {"should_start": False}
            self.startable = False
            return {"should_start": True, "ai_type": "codex"}

        return server.streamable_http_app()


@contextmanager
def serving(server: S1Server) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(server.application(), log_level="error", ws="none"))
    thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        running.should_exit = running.force_exit = True
        thread.join(30)
        listening.close()


def test_a_server_without_our_additions_is_polled_and_its_agent_is_started(yard: Yard) -> None:
    script = Script("s1", log=yard.log)
    runner = yard.runner(play=script)
    config = runner.home / "config.toml"
    config.write_text(config.read_text().replace(yard.agents["codex"].agent.id, "agt_s1"))
    server = S1Server(yard.project_folder)
    with serving(server) as url:
        process = runner.spawn("--server", url)
        (start,) = yard.until_records("start")
        assert "agent_id: agt_s1" in start["prompt"]
        assert start["environment"]["KUMI_RUN_TOKEN"] == ""
        assert f'url="{url}"' in json.dumps(start["argv"]).replace("\\", "")
        runner.until_events("ended")
        until(lambda: server.calls.count("should_start") >= 2, "the next question")
        process.kill()
        process.wait()
    assert "wait_for_work" not in server.calls
    assert len(scripts.records(yard.log, "start")) == 1
