"""`--json` of the verbs that are a way of running: data on stdout, talk on stderr, as everywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Kumi

KUMI = (sys.executable, "-m", "kumihimo")
BOUND_SECONDS = 60
Typed = Callable[..., str]


@pytest.fixture
def typed(home: Path, tmp_path: Path) -> Typed:
    """What a process of its own prints: what it leaves running is not ours."""
    environment = {**os.environ, "KUMI_HOME": str(home)}

    def type_it(*words: str) -> str:
        done = subprocess.run(
            [*KUMI, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=BOUND_SECONDS
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return type_it


def test_a_host_that_goes_on_by_itself_says_where_it_is_and_down_says_what_was_stopped(
    typed: Typed, home: Path
) -> None:
    up = json.loads(typed("up", "--detach", "--port", "0", "--json"))
    try:
        assert up.keys() == {"url", "pid", "tokenFile"}
        assert json.loads(typed("status", "--json")).items() >= up.items()
        assert json.loads(typed("up", "--json")) == up
    finally:
        down = json.loads(typed("down", "--json"))
    assert down == {"stopped": True, "pid": up["pid"]}
    assert json.loads(typed("down", "--json")) == {"stopped": False, "pid": None}


def test_only_who_sees_it_running_is_told_to_press_a_key(typed: Typed) -> None:
    said = typed("up", "--detach", "--port", "0")
    typed("down")
    assert "`kumi down`" in said
    assert "Ctrl-C" not in said


def test_a_host_in_the_foreground_prints_one_object_and_nothing_else(home: Path, tmp_path: Path) -> None:
    host = subprocess.Popen(
        [*KUMI, "up", "--port", "0", "--json"],
        cwd=tmp_path, env={**os.environ, "KUMI_HOME": str(home)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert host.stdout is not None
    told = json.loads(host.stdout.readline())
    host.send_signal(signal.SIGTERM)
    rest, complaints = host.communicate(timeout=BOUND_SECONDS)
    assert (told["pid"], told["tokenFile"], rest) == (host.pid, str(home / "token"), b""), complaints


def test_a_script_for_a_shell_comes_with_its_name(kumi: Kumi) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert kumi("completion", shell, "--json").json == {
            "shell": shell,
            "script": kumi("completion", shell).out[:-1],
        }


def test_what_the_demo_draws_is_talk_and_what_came_of_it_the_data(kumi: Kumi) -> None:
    done = kumi("demo", "--json")
    assert done.code == 0, done.err
    assert done.json["folder"] is None
    assert {(run["role"], run["status"]) for run in done.json["agents"]} == {
        (role, "resultReported") for role in ("planner", "writer", "coder", "reviewer")
    }
    assert "kumi group run GROUP --role coder" in done.err
