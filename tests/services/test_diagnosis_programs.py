"""The doctor: agent CLIs, and the servers behind the hub. The programs here are a few lines of shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kumihimo.domain.finding import Finding
from kumihimo.engine.agents.logins import LOGINS, login_status
from kumihimo.hub.diagnosis import look_at_hub
from kumihimo.services.diagnosis import clients
from kumihimo.services.diagnosis.clients import look_at_clients
from kumihimo.services.diagnosis.examination import Examination
from kumihimo.settings import Flags, load
from tests.services.clinic import program


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, in a home without a login."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    for login in LOGINS.values():
        for name in (*login.variables, login.home or "NONE"):
            monkeypatch.delenv(name, raising=False)
    return folder


def look(tmp_path: Path, known: dict[str, str] | None = None) -> dict[str, Finding]:
    settings = load(Flags(), {"KUMI_HOME": str(tmp_path / "home")}, tmp_path)
    return {it.name: it for it in look_at_clients(Examination(settings, fix=False), known or {})}


def test_a_missing_cli_is_a_warning_that_says_how_to_get_it(tmp_path: Path, bin_folder: Path) -> None:
    found = look(tmp_path)
    assert {finding.verdict for finding in found.values()} == {"warning"}
    assert "npm install -g @openai/codex" in found["codex"].detail


def test_a_cli_without_a_login_is_a_warning_that_says_how_to_log_in(tmp_path: Path, bin_folder: Path) -> None:
    program(bin_folder, "codex", "echo codex-cli 0.166.0")
    assert "codex login" in look(tmp_path)["codex"].detail
    auth = tmp_path / "user" / ".codex" / "auth.json"
    auth.parent.mkdir(parents=True)
    auth.write_text("{}")
    assert look(tmp_path)["codex"] == Finding("codex", "ok", f"{bin_folder / 'codex'} 0.166.0")


def test_a_key_in_the_environment_or_in_the_settings_is_a_login(
    tmp_path: Path, bin_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(bin_folder, "claude", "echo '2.1.325 (Claude Code)'")
    program(bin_folder, "gemini", "echo 0.61.0")
    assert look(tmp_path)["claude-code"].verdict == look(tmp_path)["gemini-cli"].verdict == "warning"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    (tmp_path / "kumi.toml").write_text('[clients.gemini-cli]\nenv = { GEMINI_API_KEY = "x" }\n')
    assert look(tmp_path)["claude-code"].verdict == look(tmp_path)["gemini-cli"].verdict == "ok"


def test_where_a_login_cannot_be_seen_nothing_is_claimed(tmp_path: Path, bin_folder: Path) -> None:
    assert login_status("opencode", {}, tmp_path) == "unknown"
    config = tmp_path / ".codex" / "config.toml"
    config.parent.mkdir()
    assert login_status("codex", {}, tmp_path) == "missing"
    config.write_text('model_provider = "azure"\n')
    assert login_status("codex", {}, tmp_path) == "unknown"


def test_a_cli_that_is_too_old_is_a_warning(tmp_path: Path, bin_folder: Path) -> None:
    program(bin_folder, "claude", "echo '1.0.3 (Claude Code)'")
    found = look(tmp_path)["claude-code"]
    assert found.verdict == "warning"
    assert "1.0.3" in found.detail


def test_a_cli_that_hangs_holds_nobody_up_for_long(
    tmp_path: Path, bin_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_VERSION_SECONDS", 0.2)
    program(bin_folder, "qwen", "while :; do :; done")
    assert "--version" in look(tmp_path)["qwen-code"].detail


def test_a_version_that_is_known_is_not_asked_for_again(tmp_path: Path, bin_folder: Path) -> None:
    asked = tmp_path / "asked"
    file = program(bin_folder, "opencode", f": > {asked}; echo 1.18.33")
    assert look(tmp_path, {str(file): "1.18.33"})["opencode"].verdict == "ok"
    assert not asked.exists()


def test_a_command_of_the_users_own_is_taken_as_it_is(tmp_path: Path, bin_folder: Path) -> None:
    own = program(tmp_path, "my-claude", "exit 1")
    (tmp_path / "kumi.toml").write_text(f'[clients.claude-code]\ncommand = ["{own}"]\n')
    assert look(tmp_path)["claude-code"] == Finding("claude-code", "ok", str(own))
    own.unlink()
    assert "[clients.claude-code]" in look(tmp_path)["claude-code"].detail


def hub(tmp_path: Path, servers: dict[str, object]) -> list[Finding]:
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}, indent=1))
    return look_at_hub(load(Flags(), {"KUMI_HOME": str(tmp_path / "home")}, tmp_path))


def test_without_a_hub_nothing_is_said_of_one(tmp_path: Path) -> None:
    assert look_at_hub(load(Flags(), {"KUMI_HOME": str(tmp_path / "home")}, tmp_path)) == []


def test_a_mistake_in_the_hubs_file_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "mcp.config.yaml").write_text("servers:\n  - name: files\n    command: 'true'\n    sandbx: {}\n")
    (found,) = look_at_hub(load(Flags(), {"KUMI_HOME": str(tmp_path / "home")}, tmp_path))
    assert found.verdict == "warning"
    assert "mcp.config.yaml:4" in found.detail


def test_a_server_whose_program_is_missing_is_named(tmp_path: Path, bin_folder: Path) -> None:
    program(bin_folder, "there", "")
    found = hub(tmp_path, {"a": {"command": "there"}, "b": {"command": "npx"}, "c": {"url": "http://127.0.0.1:9/mcp"}})
    assert [(finding.name, finding.verdict) for finding in found] == [("hub", "warning")]
    assert "'b'" in found[0].detail
    assert [finding.verdict for finding in hub(tmp_path, {"a": {"command": "there"}})] == ["ok"]


def test_a_sandbox_that_cannot_be_had_is_told(tmp_path: Path, bin_folder: Path) -> None:
    program(bin_folder, "there", "")
    servers = {"a": {"command": "there", "sandbox": {"network": False}}}
    assert "bubblewrap" in hub(tmp_path, servers)[0].detail
    program(bin_folder, "bwrap", "echo no namespaces >&2; exit 1")
    assert "no namespaces" in hub(tmp_path, servers)[0].detail
    program(bin_folder, "bwrap", "exit 0")
    assert [finding.verdict for finding in hub(tmp_path, servers)] == ["ok"]
