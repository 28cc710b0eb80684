"""What `kumi mcp serve` loads before a client has its first answer. Time is the bench's business; modules can be counted."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.interop.conftest import HANDSHAKE
from tests.interop.house import BOUND_SECONDS, House

# Each takes longer to load than an answer takes: they are for calls that wait, for HTTP, or for the terminal.
NOT_NEEDED = ("asyncio", "ssl", "uvicorn", "rich", "argon2", "psycopg", "apsw", "subprocess")


@pytest.mark.parametrize("name", ["manager", "worker", "editor", "runner"])
def test_initialize_is_answered_without_loading_what_it_does_not_need(house: House, name: str) -> None:
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kumihimo", "mcp", "serve", "--toolset", name],
        input=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n",
        cwd=house.folder, env=house.environment, capture_output=True, text=True, check=True, timeout=BOUND_SECONDS,
    )  # fmt: skip
    assert json.loads(done.stdout)["result"]["protocolVersion"] == HANDSHAKE
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "kumihimo.surfaces.mcp.stdio" in loaded
    assert sorted(loaded.intersection(NOT_NEEDED)) == []
