"""Agents that the settings define, and programs that are looked at."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kumihimo.domain.health import Health
from kumihimo.services.checkups import check, glance, look_again
from kumihimo.services.definitions import defined, newcomers, welcome
from kumihimo.settings import Flags, Settings, load
from kumihimo.testing.scripts import Script, command, install
from tests.services.conftest import Shop


def settings_with(folder: Path, text: str) -> Settings:
    (folder / "config.toml").write_text(text, "utf-8")
    return load(Flags(), {"KUMI_HOME": str(folder)}, folder)


def test_what_the_settings_say_of_an_agent_wins(shop: Shop, tmp_path: Path) -> None:
    settings = settings_with(
        tmp_path,
        '[agents.coder]\nclient = "codex"\nmodel = "m"\nsystem_prompt = "Go."\nscope = { write = ["src/**"] }\n',
    )
    found = defined(shop.coder, settings)
    assert (found.client, found.model, found.system_prompt, found.scope.write) == ("codex", "m", "Go.", ("src/**",))
    assert found.role == shop.coder.role, "what is not said stays"
    assert defined(shop.reviewer, settings) == shop.reviewer


def test_somebody_whom_only_the_settings_define_becomes_an_agent_when_asked_for(shop: Shop, tmp_path: Path) -> None:
    settings = settings_with(
        tmp_path,
        '[agents.tester]\nclient = "codex"\ndescription = "Tests"\n[agents.other]\n[agents.coder]\nmodel = "m"\n',
    )
    board = shop.kit.board
    known = {agent.name for agent in board.agents.list().items}
    assert [agent.name for agent in newcomers(settings, known)] == ["other", "tester"]
    welcome(board, settings, {"tester", "coder", "nobody"})
    made = board.agents.show("tester")
    assert (made.client, made.role) == ("codex", "Tests")
    assert "other" not in {agent.name for agent in board.agents.list().items}


@pytest.mark.parametrize(
    ("script", "status", "reason"),
    [
        (Script().say("OK"), "passed", None),
        (Script().auth_failure(), "failed", "auth"),
        (Script().silent(), "failed", "protocol"),
    ],
)
def test_a_check_asks_the_program_and_keeps_what_came_of_it(
    shop: Shop, tmp_path: Path, script: Script, status: str, reason: str | None
) -> None:
    script.written(tmp_path / "script.json")
    words = command("claude-code", script=tmp_path / "script.json")
    settings = settings_with(tmp_path, f"[clients.claude-code]\ncommand = {words}\n")
    found = shop.kit.board.hosts.note_health(check(shop.coder, settings, shop.kit.clock))
    assert (found.status, found.program) == (status, sys.executable)
    assert (found.reason or "").startswith(reason or "")
    assert {agent.name: health for agent, health in shop.kit.board.hosts.health()}["coder"] == found


def test_a_program_that_was_missing_and_came_later_is_found_when_it_is_needed(shop: Shop, tmp_path: Path) -> None:
    board, program = shop.kit.board, tmp_path / "bin" / "claude"
    settings = settings_with(tmp_path, f'[clients.claude-code]\ncommand = ["{program}"]\n')
    missing = glance(shop.coder, Health(shop.coder.id), settings, shop.kit.clock)
    assert missing is not None
    assert (missing.available, missing.program) == (False, None)
    board.hosts.note_health(missing)
    assert glance(shop.coder, missing, settings, shop.kit.clock) is None, "nothing new"
    install(tmp_path / "bin", "claude-code")
    look_again(board, settings, {"reviewer"})
    assert not {agent.name: health for agent, health in board.hosts.health()}["coder"].available
    look_again(board, settings, {"coder"})
    found = {agent.name: health for agent, health in board.hosts.health()}["coder"]
    assert (found.available, found.program) == (True, str(program))
    assert found.version is not None
