"""What a door loads before it answers: nothing of the agent CLIs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.mark.parametrize("words", ["manager", "lead,editor", "resident --agent-id planner"])
def test_a_door_answers_without_having_loaded_the_agent_clis_or_the_command_line(tmp_path: Path, words: str) -> None:
    environment = {**os.environ, "KUMI_HOME": str(tmp_path / "home")}
    kumi = [sys.executable, "-X", "importtime", "-m", "kumihimo"]
    subprocess.run([*kumi, "init"], cwd=tmp_path, env=environment, capture_output=True, check=True)
    done = subprocess.run(
        [*kumi, "mcp", "serve", "--toolset", *words.split()],
        input=json.dumps(HELLO) + "\n",
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["id"] == 1
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "kumihimo.surfaces.mcp.stdio" in loaded
    assert {name for name in loaded if name == "click" or name.startswith("kumihimo.engine.agents")} == set()
