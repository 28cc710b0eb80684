"""`kumi doctor` from the terminal: what it prints, what it mends, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kumihimo.services.hosting import find_running
from tests.cli.conftest import Kumi, Result


def test_a_machine_without_any_agent_cli_is_in_order(
    kumi: Kumi, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    told = kumi("doctor", "--json")
    assert told.code == 0
    found = {check["name"]: check["status"] for check in told.json["checks"]}
    assert (found["claude-code"], found["git"], found["database"]) == ("warning", "warning", "ok")
    assert not home.exists(), "to look makes nothing"


def test_a_board_that_cannot_be_used_ends_in_a_failure_and_comes_first(kumi: Kumi, tmp_path: Path) -> None:
    (tmp_path / "junk.db").write_bytes(b"not a database" * 100)
    told = kumi("--db", tmp_path / "junk.db", "doctor", "--json")
    assert told.code == 1
    assert (told.json["checks"][0]["name"], told.json["checks"][0]["status"]) == ("database", "error")


def test_fix_mends_and_says_what_it_did(shop: Kumi, home: Path) -> None:
    home.chmod(0o755)
    assert "kumi doctor --fix" in shop("doctor").out
    told = shop("doctor", "--fix", "--json")
    assert told.code == 0
    assert [check["name"] for check in told.json["checks"] if check["mended"]] == ["folder"]
    assert not any(check["mended"] for check in shop("doctor", "--fix", "--json").json["checks"])


def test_the_doctor_speaks_japanese(shop: Kumi) -> None:
    told = shop("doctor", "--lang", "ja")
    assert told.code == 0
    assert "状態" in told.out
    assert "必要な時に起動します" in told.out


def test_a_host_process_is_seen_while_it_answers_and_what_is_left_of_it_when_it_was_killed(
    shop: Kumi, home: Path
) -> None:
    up = subprocess.Popen([sys.executable, "-m", "kumihimo", "up", "--port", "0"], stdout=subprocess.PIPE)
    assert up.stdout is not None
    up.stdout.readline()
    try:
        running = find_running(home)
        assert running is not None
        assert (host(shop("doctor", "--json"))["status"], running.url in shop("doctor").out) == ("ok", True)
    finally:
        os.kill(up.pid, signal.SIGKILL)
        up.wait()
        up.stdout.close()
    assert host(shop("doctor", "--json"))["status"] == "warning"
    assert host(shop("doctor", "--fix", "--json"))["mended"]
    assert host(shop("doctor", "--json"))["status"] == "ok"
    assert not (home / "up.json").exists()


def host(told: Result) -> dict[str, Any]:
    return next(check for check in told.json["checks"] if check["name"] == "host")
