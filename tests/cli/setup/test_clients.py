"""Which file each client's entry goes to, in which form, and for whom."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kumihimo.surfaces.cli.setup import clients
from kumihimo.surfaces.cli.setup.place import place_of
from tests.cli.setup.conftest import OURS, Desk

REPOSITORY_FILES = {
    "claude": ".mcp.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "vscode": ".vscode/mcp.json",
}
USER_FILES = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "vscode": ".config/Code/User/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
}


def whole(client: str, command: str) -> dict[str, Any]:
    """The file of a client that has nothing but our server."""
    entry = {**OURS, "command": command}
    if client == "codex":
        return {"mcp_servers": {"kumihimo": entry}}
    if client == "vscode":
        return {"servers": {"kumihimo": {"type": "stdio", **entry}}}
    return {"mcpServers": {"kumihimo": entry}}


def read(path: Path) -> Any:
    return tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())


@pytest.mark.parametrize("client", REPOSITORY_FILES)
def test_in_a_repository_the_file_of_the_repository_gets_the_bare_program(desk: Desk, client: str) -> None:
    result = desk.setup(client)

    assert result.code == 0, result.err
    path = desk.repository / REPOSITORY_FILES[client]
    assert read(path) == whole(client, "kumi")
    assert str(path) in result.out
    assert "Next: " in result.out.splitlines()[-1]
    assert not list(desk.home.glob(".c*"))


@pytest.mark.parametrize("client", USER_FILES)
def test_the_file_of_the_user_gets_the_path_of_the_program_and_is_the_users_alone(desk: Desk, client: str) -> None:
    result = desk.setup(client, "--scope", "user")

    assert result.code == 0, result.err
    path = desk.home / USER_FILES[client]
    assert read(path) == whole(client, str(desk.program))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir() if "kumi" in file.name] == []


@pytest.mark.parametrize("client", USER_FILES)
def test_outside_of_any_repository_the_user_is_meant(
    desk: Desk, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")

    assert desk.setup(client, "--json").json["scope"] == "user"
    assert read(desk.home / USER_FILES[client]) == whole(client, str(desk.program))


def test_windsurf_is_set_up_for_the_user_inside_a_repository_too(desk: Desk) -> None:
    assert desk.setup("windsurf", "--json").json["scope"] == "user"


def test_windsurf_for_a_repository_is_refused_with_a_sentence(desk: Desk) -> None:
    result = desk.setup("windsurf", "--scope", "repo")

    assert result.code == 2
    assert "Windsurf has no MCP configuration for a repository" in result.err
    assert not (desk.home / ".codeium").exists()


@pytest.mark.parametrize("marker", ["kumi.toml", ".git"])
def test_the_nearest_project_or_repository_above_gets_the_file(
    desk: Desk, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = desk.repository / "inner"
    (inner / "deep" / "er").mkdir(parents=True)
    # In a worktree `.git` is a file.
    (inner / marker).write_text("")
    monkeypatch.chdir(inner / "deep" / "er")

    assert desk.setup("cursor", "--json").json["path"] == str(inner / ".cursor" / "mcp.json")


def test_a_home_that_is_a_repository_of_dotfiles_is_still_a_home(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.home / ".git").mkdir()
    (desk.home / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (desk.home / "notes").mkdir()
    monkeypatch.chdir(desk.home / "notes")

    assert desk.setup("claude", "--json").json["scope"] == "user"


def test_an_empty_folder_that_is_only_called_git_makes_no_repository(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sandbox that is killed leaves one behind, in the temporary folder of all."""
    (tmp_path / "plain" / ".git").mkdir(parents=True)
    (tmp_path / "plain" / "below").mkdir()
    monkeypatch.chdir(tmp_path / "plain" / "below")

    assert desk.setup("claude", "--json").json["scope"] == "user"


def test_a_repository_that_is_asked_for_and_not_there_is_this_folder(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")

    assert desk.setup("claude", "--scope", "repo").code == 0
    assert (tmp_path / "plain" / ".mcp.json").exists()


@pytest.mark.parametrize(
    ("client", "variable", "file"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
        ("vscode", "VSCODE_APPDATA", "Code/User/mcp.json"),
        ("vscode", "VSCODE_PORTABLE", "user-data/User/mcp.json"),
    ],
)
def test_a_client_whose_folder_was_moved_is_found_there(
    desk: Desk, client: str, variable: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "moved"))

    assert desk.setup(client, "--scope", "user", "--json").json["path"] == str(tmp_path / "moved" / file)
    assert not (desk.home / USER_FILES[client]).exists()


def test_claude_code_with_its_older_file_is_set_up_in_that(desk: Desk) -> None:
    older = desk.file("~/.claude/.config.json", "{}")

    assert desk.setup("claude", "--scope", "user").code == 0
    assert "kumihimo" in older.read_text()


def test_vs_code_on_a_mac_is_found_in_application_support(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    place = place_of(desk.repository, {"HOME": str(desk.home)})

    expected = str(desk.home / "Library/Application Support/Code/User/mcp.json")
    assert clients.named("vscode").files["user"](place) == expected


def test_without_a_home_there_is_a_sentence(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")

    result = desk.setup("cursor", "--scope", "user")
    assert result.code == 3
    assert "set HOME" in result.err


def test_every_file_with_a_client_is_in_the_list() -> None:
    folder = Path(clients.__file__).parent
    having = {path.stem for path in folder.glob("*.py") if "\nCLIENT = " in path.read_text()}

    assert having == set(clients.NAMES)
    assert list(clients.NAMES) == sorted(having)


class TestProgram:
    """Which command a user's file gets."""

    def command(self, desk: Desk) -> str:
        snippet = desk.setup("cursor", "--scope", "user", "--dry-run").out
        return json.loads(snippet)["mcpServers"]["kumihimo"]["command"]

    def test_the_link_on_path_is_taken_rather_than_what_it_points_to(
        self, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "kumi").symlink_to(desk.program)
        monkeypatch.setenv("PATH", str(tmp_path / "links"))

        assert self.command(desk) == str(tmp_path / "links" / "kumi")

    def test_the_running_program_is_taken_where_path_has_another(
        self, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = tmp_path / "other" / "kumi"
        other.parent.mkdir()
        other.write_text("#!/bin/sh\n")
        other.chmod(0o755)
        monkeypatch.setattr("sys.argv", [str(other)])

        assert self.command(desk) == str(other)

    def test_a_program_typed_by_a_relative_path_is_written_with_its_whole_path(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        monkeypatch.setattr("sys.argv", ["../../bin/kumi"])

        assert Path(self.command(desk)).resolve() == desk.program
        assert Path(self.command(desk)).is_absolute()

    def test_a_program_in_a_cache_is_not_written_down_and_its_absence_from_path_is_said(
        self, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cached = tmp_path / ".cache" / "uv" / "kumi"
        cached.parent.mkdir(parents=True)
        cached.write_text("#!/bin/sh\n")
        cached.chmod(0o755)
        monkeypatch.setattr("sys.argv", [str(cached)])
        monkeypatch.setenv("PATH", "/nowhere")

        assert self.command(desk) == "kumi"
        assert "not on PATH" in desk.setup("cursor", "--scope", "user", "--dry-run").err

    def test_started_as_a_module_the_program_beside_python_is_taken(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.argv", ["/somewhere/kumihimo/__main__.py"])
        monkeypatch.setattr("sys.executable", str(desk.program.with_name("python")))
        monkeypatch.setenv("PATH", "/nowhere")

        assert self.command(desk) == str(desk.program)
