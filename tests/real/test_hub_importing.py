"""Servers as the real CLIs write them down when they are told to add one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kumihimo.hub.importing import found_in
from tests.real.clis import CLIS, Cli

pytestmark = pytest.mark.real
URL = "https://example.test/mcp"
ADDED = {
    "claude-code": [
        ["mcp", "add", "fs", "-s", "user", "-e", "TOKEN=abc", "--", "npx", "-y", "server", "/x"],
        ["mcp", "add", "--transport", "http", "web", URL, "-s", "local", "-H", "Authorization: Bearer abc"],
    ],
    "codex": [
        ["mcp", "add", "fs", "--env", "TOKEN=abc", "--", "npx", "-y", "server", "/x"],
        ["mcp", "add", "web", "--url", URL, "--bearer-token-env-var", "WEB_TOKEN"],
    ],
    "gemini-cli": [
        ["mcp", "add", "-s", "user", "-e", "TOKEN=abc", "fs", "npx", "-y", "server", "/x"],
        ["mcp", "add", "-s", "project", "-t", "http", "-H", "Authorization: Bearer abc", "web", URL],
    ],
}


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_what_a_real_cli_has_added_is_found(cli: Cli, tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "project"
    (home / ".codex").mkdir(parents=True)
    folder.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home / ".codex")}
    for words in ADDED[cli.name]:
        subprocess.run([cli.installed(), *words], cwd=folder, env=environ, check=True, capture_output=True)

    found = found_in(folder, home)
    servers = {name: entry for each in found for name, entry in each.servers.items()}

    assert {each.client for each in found} == {cli.name}
    assert servers["fs"] == {"command": "npx", "args": ["-y", "server", "/x"], "env": {"TOKEN": "abc"}}
    bearer = "${WEB_TOKEN}" if cli.name == "codex" else "abc"
    assert servers["web"]["url"] == URL
    assert servers["web"]["headers"] == {"Authorization": f"Bearer {bearer}"}
