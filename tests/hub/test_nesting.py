"""A Kumihimo behind a hub: what it starts for long outlives the hub, and what it starts for itself does not."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

from kumihimo.hub.guardian import VARIABLE
from kumihimo.hub.guardian_program import end_marked
from tests.hub.hub_kit import Scripted, alive, run, until

KUMI = [sys.executable, "-m", "kumihimo"]
OUTER = """
import asyncio, json, sys
from kumihimo import Hub

async def main():
    async with Hub(servers=[json.loads(sys.argv[1])]) as hub:
        answer = await hub.execute_tool("inner:hub_call", {"tool": "alpha:echo", "params": {}})
        print(answer.success, flush=True)
        await asyncio.sleep(1000)

asyncio.run(main())
"""


def test_servers_behind_a_hub_behind_a_hub_end_when_the_outer_one_is_killed(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"}, stubborn=True)
    file = tmp_path / "inner.json"
    file.write_text(json.dumps({"servers": [alpha.config]}))
    inner = {
        "name": "inner",
        "command": KUMI[0],
        "args": [*KUMI[1:], "mcp", "serve", "--toolset", "hub", "--config", str(file)],
        "env": {"KUMI_HOME": str(tmp_path / "home")},
    }
    words = [sys.executable, "-c", OUTER, json.dumps(inner)]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as outer:
        assert outer.stdout is not None
        assert outer.stdout.readline() == b"True\n"
        (server,) = alpha.pids
        assert alive(server)
        outer.send_signal(signal.SIGKILL)
    run(until(lambda: not alive(server)))


def test_a_host_that_a_server_of_a_hub_has_started_goes_on_when_the_hub_ends(tmp_path: Path) -> None:
    home = {**os.environ, "KUMI_HOME": str(tmp_path / "home")}
    # Nobody else's, who may run the same test beside this one.
    mark = secrets.token_hex(8)
    behind_a_hub = {**home, VARIABLE: mark}
    subprocess.run(
        [*KUMI, "up", "--detach", "--port", "0"], env=behind_a_hub, cwd=tmp_path, check=True, capture_output=True
    )
    try:
        end_marked(f"{VARIABLE}={mark}".encode())
        told = subprocess.run([*KUMI, "status", "--json"], env=home, cwd=tmp_path, check=True, capture_output=True)
        assert json.loads(told.stdout)["pid"]
    finally:
        subprocess.run([*KUMI, "down"], env=home, cwd=tmp_path, check=True, capture_output=True)
