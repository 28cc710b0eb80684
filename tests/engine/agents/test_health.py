"""Health checks, with small programs in place of the CLIs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kumihimo.engine.agents import health, registry
from kumihimo.settings import Client as Override

CODEX = registry.find("codex")
OPENCODE = registry.find("opencode")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return tmp_path / "agent"


def write(path: Path, body: str) -> Override:
    path.write_text(f"#!{sys.executable}\nimport os, sys, time\n{body}\n")
    path.chmod(0o755)
    return Override(command=[str(path)])


SPEAKS = """
assert sys.argv[1] == "exec", sys.argv
prompt = sys.stdin.read()
print('{"type":"thread.started","thread_id":"t"}')
print('{"type":"turn.completed","usage":{}}' if "please" in prompt else '{"type":"turn.failed","error":{"message":"401"}}')
"""


def test_a_program_is_found_by_the_settings_or_on_path(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(program.parent))
    assert health.find_program(CODEX, Override()) is None
    override = write(program, "")
    assert health.find_program(CODEX, override) == str(program)
    write(program.parent / "codex", "")
    assert health.find_program(CODEX, Override()) == str(program.parent / "codex")
    assert health.find_program(CODEX, Override(command=["/nowhere/codex"])) is None
    assert health.find_program(registry.find("command"), Override()) is None


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("2.1.325 (Claude Code)", "2.1.325"),
        ("codex-cli 0.166.0", "0.166.0"),
        ("GitHub Copilot CLI 1.0.102.\\nRun 'copilot update'", "1.0.102"),
        ("2026.11.01-abc", "2026.11.01-abc"),
        ("unstable", "unstable"),
        ("", None),
    ],
)
def test_a_version_is_what_it_prints(printed: str, version: str | None, program: Path) -> None:
    override = write(program, f'assert sys.argv[1:] == ["--version"]; print("{printed}")')
    assert health.version(CODEX, override) == version


def test_a_program_that_fails_has_no_version(program: Path) -> None:
    assert health.version(CODEX, write(program, "print('1.2.3'); sys.exit(1)")) is None
    assert health.version(CODEX, Override(command=["/nowhere/codex"])) is None


def test_words_of_the_command_come_before_ours(program: Path) -> None:
    override = write(program, 'assert sys.argv[1:] == ["--as", "x", "--version"]; print("1.0")')
    assert health.version(CODEX, Override(command=[*(override.command or []), "--as", "x"])) == "1.0"


def test_a_model_is_looked_up_where_the_cli_can_list_them(program: Path) -> None:
    override = write(program, 'assert sys.argv[1:] == ["models"]; print("a/one\\nb/two - Two")')
    assert health.models(OPENCODE, override, "a/one") == "valid"
    assert health.models(OPENCODE, override, "b/two") == "valid"
    assert health.models(OPENCODE, override, "c") == "invalid"
    assert health.models(OPENCODE, override, None) == "unknown"
    assert health.models(CODEX, override, "a/one") == "unknown"
    assert health.models(OPENCODE, write(program, "sys.exit(1)"), "a/one") == "unknown"


def test_a_prompt_passes_by_the_same_judgement_as_a_run(program: Path) -> None:
    override = write(program, SPEAKS)
    passed = health.prompt_check(CODEX, override, "please")
    assert (passed.status, passed.reason) == ("passed", None)
    assert passed.response_time_ms is not None
    failed = health.prompt_check(CODEX, override, "now")
    assert (failed.status, failed.reason, failed.message) == ("failed", "auth", "401")


def test_a_prompt_check_without_a_program_fails() -> None:
    found = health.prompt_check(CODEX, Override(command=["/nowhere/codex"]), "x")
    assert (found.status, found.reason) == ("failed", "spawn_failed")


def test_settings_reach_a_prompt_check(program: Path) -> None:
    body = SPEAKS + 'assert sys.argv[-2:] == ["-c", "x=1"] and os.environ["MINE"] == "1"'
    override = Override(command=write(program, body).command, args=["-c", "x=1"], env={"MINE": "1"})
    assert health.prompt_check(CODEX, override, "please").status == "passed"


def test_a_prompt_that_takes_too_long_is_killed_with_its_children(program: Path) -> None:
    told = program.parent / "child"
    # A shell, because it starts at once.
    program.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {told}\nwait\n")
    program.chmod(0o755)
    found = health.prompt_check(CODEX, Override(command=[str(program)]), "x", seconds=1.0)
    assert (found.status, found.reason) == ("failed", "timed_out")
    child = int(told.read_text())
    assert not _runs(child)


def _runs(process: int) -> bool:
    """Killed it may still wait to be taken off the list by whoever adopted it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        return not Path("/proc/self").exists()
