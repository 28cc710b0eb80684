"""Servers of other clients, from files as those clients write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kumihimo.hub.configuration_file import from_file
from kumihimo.hub.importing import Found, combined, found_in

CLAUDE = """\
{
  "firstStartVersion": "2.1.325",
  "seenNotifications": {},
  "mcpServers": {
    "fs": {"type": "stdio", "command": "npx", "args": ["-y", "server-filesystem", "/x"], "env": {"TOKEN": "${TOKEN}"}}
  },
  "projects": {
    "FOLDER": {
      "allowedTools": [],
      "mcpServers": {
        "web": {"type": "http", "url": "https://example.test/mcp", "headers": {"Authorization": "Bearer ${KEY:-none}"}}
      },
      "enabledMcpjsonServers": []
    },
    "/elsewhere": {"mcpServers": {"other": {"command": "x"}}}
  }
}
"""
CODEX = """\
model = "gpt-5"

[mcp_servers.fs]
command = "npx"
args = ["-y", "server-filesystem", "/x", "${literal}"]
env_vars = ["PASSED", { name = "ALSO", source = "local" }]
startup_timeout_sec = 20
tool_timeout_sec = 2.5
enabled_tools = ["read"]
disabled_tools = ["write"]

[mcp_servers.fs.env]
TOKEN = "abc"

[mcp_servers.web]
url = "https://example.test/mcp"
bearer_token_env_var = "WEB_TOKEN"
http_headers = { "X-Region" = "${eu}" }
env_http_headers = { "X-Key" = "WEB_KEY" }

[mcp_servers.off]
command = "x"
enabled = false
"""
GEMINI = """\
{
  // the user's own
  "theme": "dark",
  "mcp": {"excluded": ["gone"]},
  "mcpServers": {
    "old": {
      "url": "https://example.test/sse", "type": "sse", "timeout": 5000, "trust": true,
      "includeTools": ["a"], "excludeTools": ["c"]
    },
    "new": {"httpUrl": "https://example.test/mcp", "headers": {"Authorization": "Bearer $KEY", "X": "${a-b} ${OK:-x}"}},
    "gone": {"command": "x"}
  }
}
"""
VSCODE = """\
{
  "inputs": [{"type": "promptString", "id": "github-token", "password": true}], /* asked for */
  "servers": {
    "github": {
      "type": "http",
      "url": "https://example.test/mcp",
      "headers": {"Authorization": "Bearer ${input:github-token}"},
    },
    "local": {
      "type": "stdio", "command": "node", "args": ["${workspaceFolder}/server.js", "http://not-a-comment"],
      "env": {"HOME_OF": "${userHome}", "KEY": "${env:KEY}", "PORT": 8080}, "cwd": "${workspaceFolder}"
    },
    "file": {"command": "x", "envFile": "${workspaceFolder}/.env"},
    "setting": {"command": "x", "args": ["${config:some.setting}"]},
  },
}
"""


class Machine:
    """A project and a home, with these files."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder, self.home = tmp_path / "project", tmp_path / "home"
        self.folder.mkdir()
        self.home.mkdir()

    def write(self, base: Path, name: str, text: str) -> None:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)

    def found(self) -> list[Found]:
        return found_in(self.folder, self.home)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def servers(**entries: Any) -> str:
    return json.dumps({"mcpServers": entries})


def test_claude_code_has_servers_for_a_project_in_two_places_and_for_the_user(machine: Machine) -> None:
    machine.write(machine.home, ".claude.json", CLAUDE.replace("FOLDER", str(machine.folder)))
    machine.write(machine.folder, ".mcp.json", servers(shared={"type": "sse", "url": "https://example.test/sse"}))
    local, shared, user = machine.found()
    assert [found.client for found in (local, shared, user)] == ["claude-code"] * 3
    assert shared.servers == {"shared": {"type": "sse", "url": "https://example.test/sse"}}
    web = {"type": "http", "url": "https://example.test/mcp", "headers": {"Authorization": "Bearer ${KEY:-none}"}}
    assert (local.file, local.servers, local.needs) == (machine.home / ".claude.json", {"web": web}, {})
    fs = {"command": "npx", "args": ["-y", "server-filesystem", "/x"], "env": {"TOKEN": "${TOKEN}"}}
    assert (user.servers, user.needs) == ({"fs": fs}, {"fs": ("TOKEN",)})


def test_codex_names_secrets_by_their_variables_and_knows_no_others(machine: Machine) -> None:
    machine.write(machine.home, ".codex/config.toml", CODEX)
    (found,) = machine.found()
    assert found.servers["fs"] == {
        "command": "npx",
        "args": ["-y", "server-filesystem", "/x", "$${literal}"],
        "env": {"PASSED": "${PASSED:-}", "ALSO": "${ALSO:-}", "TOKEN": "abc"},
        "timeout": 2500,
        "allow": ["read"],
        "deny": ["write"],
    }
    headers = {"Authorization": "Bearer ${WEB_TOKEN}", "X-Key": "${WEB_KEY}", "X-Region": "$${eu}"}
    assert found.servers["web"] == {"url": "https://example.test/mcp", "headers": headers}
    assert found.needs == {"web": ("WEB_KEY", "WEB_TOKEN")}
    assert [(skipped.name, "switched off" in skipped.reason) for skipped in found.skipped] == [("off", True)]


def test_gemini_has_comments_lists_of_what_is_out_and_another_key_for_http(machine: Machine) -> None:
    machine.write(machine.home, ".gemini/settings.json", GEMINI)
    machine.write(machine.folder, ".gemini/settings.json", servers(mine={"command": "x", "args": ["$HOME/y"]}))
    project, user = machine.found()
    assert project.servers == {"mine": {"command": "x", "args": ["${HOME}/y"]}}
    old = {"type": "sse", "url": "https://example.test/sse", "timeout": 5000, "allow": ["a"], "deny": ["c"]}
    assert user.servers["old"] == old
    headers = {"Authorization": "Bearer ${KEY}", "X": "$${a-b} ${OK:-x}"}
    assert user.servers["new"] == {"type": "http", "url": "https://example.test/mcp", "headers": headers}
    assert [skipped.name for skipped in user.skipped] == ["gone"]


def test_the_variables_of_editors_become_ours_and_what_only_they_know_is_skipped(machine: Machine) -> None:
    machine.write(machine.folder, ".vscode/mcp.json", VSCODE)
    cursor = {"url": "https://example.test/mcp", "headers": {"Authorization": "Bearer ${env:CURSOR_KEY}"}}
    machine.write(machine.home, ".cursor/mcp.json", servers(remote=cursor, off={"command": "x", "disabled": True}))
    vscode, user = machine.found()
    assert (vscode.client, user.client) == ("vscode", "cursor")
    assert vscode.servers["github"]["headers"] == {"Authorization": "Bearer ${GITHUB_TOKEN}"}
    assert vscode.servers["local"] == {
        "command": "node",
        "args": ["${PROJECT_ROOT}/server.js", "http://not-a-comment"],
        "env": {"HOME_OF": "${HOME}", "KEY": "${KEY}", "PORT": "8080"},
        "cwd": "${PROJECT_ROOT}",
    }
    assert vscode.needs == {"github": ("GITHUB_TOKEN",), "local": ("HOME", "KEY")}
    assert [(skipped.name, skipped.reason.split(":")[0]) for skipped in vscode.skipped] == [
        ("file", "its environment is in a file"),
        ("setting", "'${config"),
    ]
    assert user.servers["remote"]["headers"] == {"Authorization": "Bearer ${CURSOR_KEY}"}
    assert [skipped.name for skipped in user.skipped] == ["off"]


@pytest.mark.parametrize("base", [".config/Claude", "Library/Application Support/Claude"])
def test_claude_desktop_fills_in_nothing(machine: Machine, base: str) -> None:
    entry = {"command": "npx", "args": ["server", "${HOME}"]}
    machine.write(machine.home, f"{base}/claude_desktop_config.json", servers(fs=entry))
    (found,) = machine.found()
    assert (found.client, found.servers) == (
        "claude-desktop",
        {"fs": {"command": "npx", "args": ["server", "$${HOME}"]}},
    )
    assert found.needs == {}


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "kumi", "args": ["mcp", "serve"]},
        {"command": "/home/me/.local/bin/kumihimo", "args": ["mcp", "serve", "--toolset", "hub"]},
        {"command": "uvx", "args": ["kumihimo@latest", "mcp", "serve"]},
        {"command": "python3", "args": ["-m", "kumihimo", "mcp", "serve"]},
        {"type": "http", "url": "http://127.0.0.1:8420/mcp/hub"},
        {"type": "http", "url": "http://localhost:8420/mcp/lead", "headers": {"Authorization": "Bearer x"}},
    ],
)
def test_our_own_server_is_never_imported(machine: Machine, entry: dict[str, Any]) -> None:
    machine.write(machine.folder, ".mcp.json", servers(any=entry, other={"command": "mcp-serve"}))
    (found,) = machine.found()
    assert list(found.servers) == ["other"]
    assert [(skipped.name, "own server" in skipped.reason) for skipped in found.skipped] == [("any", True)]


def test_what_can_not_be_taken_over_is_told_and_harms_nothing_else(machine: Machine) -> None:
    machine.write(
        machine.folder,
        ".mcp.json",
        servers(
            **{
                "fine": {"command": "x"},
                "a:b": {"command": "x"},
                "none": {},
                "odd": {"command": "x", "args": [1]},
                "no": 5,
            }
        ),
    )
    machine.write(machine.folder, ".cursor/mcp.json", "{nonsense")
    machine.write(machine.folder, ".codex/config.toml", "[mcp_servers.x\n")
    machine.write(machine.home, ".gemini/settings.json", "[]")
    machine.write(machine.home, ".claude.json", "")
    found = {each.file.relative_to(machine.folder.parent).as_posix(): each for each in machine.found()}
    assert list(found["project/.mcp.json"].servers) == ["fine"]
    assert {skipped.name for skipped in found["project/.mcp.json"].skipped} == {"a:b", "none", "odd", "no"}
    broken = ("project/.cursor/mcp.json", "project/.codex/config.toml", "home/.gemini/settings.json")
    assert [[skipped.name for skipped in found[name].skipped] for name in broken] == [[None]] * 3
    assert len(found) == 4


def test_of_two_with_one_name_the_same_is_a_duplicate_and_another_a_clash(machine: Machine) -> None:
    machine.write(machine.folder, ".mcp.json", servers(git={"command": "git-mcp", "args": []}, web={"command": "a"}))
    machine.write(machine.home, ".cursor/mcp.json", servers(git={"command": "git-mcp"}, web={"command": "b"}))
    machine.write(machine.home, ".gemini/settings.json", servers(vcs={"command": "git-mcp"}, time={"command": "t"}))
    told = combined(machine.found(), known={"clock": {"command": "t"}})
    assert {name: (chosen.found.client, chosen.entry["command"]) for name, chosen in told.new.items()} == {
        "git": ("claude-code", "git-mcp"),
        "web": ("claude-code", "a"),
    }
    assert [(same.name, same.found.client, same.other) for same in told.duplicates] == [
        ("git", "cursor", "git"),
        ("vcs", "gemini-cli", "git"),
        ("time", "gemini-cli", "clock"),
    ]
    assert [(clash.name, clash.found.client, clash.other) for clash in told.clashes] == [("web", "cursor", "web")]


def test_a_mistake_in_what_there_is_already_keeps_its_name_and_nothing_else(machine: Machine) -> None:
    machine.write(machine.home, ".cursor/mcp.json", servers(git={"command": "git-mcp"}, web={"command": "b"}))
    told = combined(machine.found(), known={"git": {"command": "git-mcp", "deny": ["wri*"]}, "none": {}})
    assert (list(told.new), [clash.name for clash in told.clashes]) == (["web"], ["git"])


def test_what_was_found_is_a_configuration_of_ours_in_both_forms(machine: Machine, tmp_path: Path) -> None:
    machine.write(machine.home, ".claude.json", CLAUDE.replace("FOLDER", str(machine.folder)))
    machine.write(machine.home, ".codex/config.toml", CODEX.replace("mcp_servers.", "mcp_servers.codex-"))
    machine.write(machine.home, ".gemini/settings.json", GEMINI)
    machine.write(machine.folder, ".vscode/mcp.json", VSCODE)
    told = combined(machine.found())
    entries = {name: chosen.entry for name, chosen in told.new.items()}
    needs = {variable for each in machine.found() for names in each.needs.values() for variable in names}
    environ = dict.fromkeys(needs, "value")
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": entries}))
    listed = [{"name": name, **entry} for name, entry in entries.items()]
    (tmp_path / "mcp.config.yaml").write_text(json.dumps({"servers": listed}))
    both = [from_file(tmp_path / name, environ, tmp_path) for name in (".mcp.json", "mcp.config.yaml")]
    first, second = ([server.at(tmp_path) for server in each.servers] for each in both)
    assert first == second
    assert len(first) == len(entries) >= 7
    # What only looked like a variable there is the text that it was.
    assert "${literal}" in next(config for config in first if config.name == "codex-fs").args
