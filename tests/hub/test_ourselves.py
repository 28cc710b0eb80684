"""This program is no server behind its own hub: whoever reached it there would be the owner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.domain.ourselves import is_own
from kumihimo.hub.configuration_file import from_file, load

OURSELVES: list[dict[str, Any]] = [
    {"command": "kumi", "args": ["mcp", "serve"]},
    {"type": "stdio", "command": "/home/me/.local/bin/kumi", "args": ["mcp", "serve"], "env": {"A": "${NOT_SET}"}},
    {"command": "kumihimo", "args": ["--lang", "ja", "mcp", "serve", "--toolset", "hub"]},
    {"command": "python3", "args": ["-m", "kumihimo", "mcp", "serve"]},
    {"command": "uvx", "args": ["kumihimo[oauth]>=1", "mcp", "serve"]},
    {"command": "uvx", "args": ["--from", "git+https://example.test/kumihimo.git@main", "kumi", "mcp", "serve"]},
    {"command": "sh", "args": ["-lc", "exec kumi mcp serve"]},
    {"command": "${PROGRAM}", "args": ["mcp", "${VERB:-serve}"]},
    {"command": "npx", "args": ["mcp-remote", "http://127.0.0.1:9696/mcp/lead,editor"]},
    {"type": "http", "url": "http://localhost:9696/mcp"},
    {"url": "http://0.0.0.0:1234/mcp/lead", "headers": {"Authorization": "Bearer ${NOT_SET}"}},
    {"url": "http://[::1]:1234/mcp/hub,worker"},
    {"url": "http://localhost.:9697/mcp/hub%2Cworker"},
    {"command": "docker", "args": ["run", "-i", "example.test/me/kumihimo:latest", "mcp", "serve"]},
    {"command": "python", "args": ["-m", "kumihimo.__main__", "mcp", "serve"]},
]
OTHERS: list[dict[str, Any]] = [
    {"command": "claude", "args": ["mcp", "serve", "--add-dir", "/home/me/kumihimo"]},
    {"command": "npx", "args": ["-y", "server-filesystem", "/home/me/kumi"]},
    {"url": "http://localhost:8080/mcp"},
    {"url": "http://localhost:8080/mcp/editor"},
    {"url": "http://127.0.0.1:3000/mcp/worker"},
    {"url": "https://example.test/mcp/lead"},
]


@pytest.mark.parametrize("entry", OURSELVES)
def test_a_file_that_names_us_has_everybody_else(tmp_path: Path, entry: dict[str, Any]) -> None:
    variables = {"PROGRAM": "kumi"}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"any": entry, "other": {"command": "x"}}}))
    found = load([tmp_path / ".mcp.json"], variables, tmp_path)
    assert [server.name for server in found.servers] == ["other"]
    listed = [{"name": "any", **entry}, {"name": "other", "command": "x"}]
    (tmp_path / "mcp.config.yaml").write_text(json.dumps({"servers": listed}))
    found = from_file(tmp_path / "mcp.config.yaml", variables, tmp_path)
    assert [server.name for server in found.servers] == ["other"]


@pytest.mark.parametrize("entry", OTHERS)
def test_who_only_resembles_us_is_taken(tmp_path: Path, entry: dict[str, Any]) -> None:
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"any": entry}}))
    assert len(from_file(tmp_path / ".mcp.json", {}, tmp_path).servers) == 1
    assert not is_own("any", entry)


def test_a_program_that_names_us_itself_means_it(tmp_path: Path) -> None:
    hub = Hub(root=tmp_path, servers=[{"name": "inner", "command": "kumi", "args": ["mcp", "serve"]}])
    assert [server["name"] for server in hub.servers()] == ["inner"]
