"""Completion, asked for as shells do it: by a key in a real bash, and by the variable that each of them sets."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Kumi

BOUND_SECONDS = 60.0


class Keyboard:
    """A terminal with a bash in it, to whom keys are pressed."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-i"],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self._seen = b""

    def press(self, keys: str, awaited: str) -> None:
        """Until that is on the screen."""
        os.write(self._ours, keys.encode())
        deadline = time.monotonic() + BOUND_SECONDS
        while awaited.encode() not in self._seen:
            assert time.monotonic() < deadline, self._seen
            if select.select([self._ours], [], [], 0.5)[0]:
                self._seen += os.read(self._ours, 4096)
        self._seen = b""

    def close(self) -> None:
        self._bash.kill()
        self._bash.wait()
        os.close(self._ours)


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return {
        "KUMI_HOME": str(home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TERM": "dumb",
        "PS1": "ready> ", "HOME": str(home.parent), "LANG": "C.UTF-8",
    }  # fmt: skip


@pytest.fixture
def keyboard(shop: Kumi, environment: dict[str, str]) -> Iterator[Keyboard]:
    made = Keyboard(Path.cwd(), environment)
    yield made
    made.close()


def asked(shell: str, words: str, environment: dict[str, str]) -> list[str]:
    """What a shell is told to offer, as its script asks for it."""
    typed = words.split(" ")
    place = typed[-1] if shell == "fish" else str(len(typed) - 1)
    variables = {"_KUMI_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": place}
    done = subprocess.run(
        [sys.executable, "-m", "kumihimo"], env={**environment, **variables}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    if shell == "zsh":
        return lines[1::3]
    return [line.partition(",")[2].partition("\t")[0] for line in lines if line]


def test_bash_completes_verbs_flags_and_ids_when_the_key_is_pressed(shop: Kumi, keyboard: Keyboard) -> None:
    shop("task", "add", "one")
    keyboard.press("source <(kumi completion bash); echo sour''ced\n", "sourced")
    keyboard.press("kumi tas\t", "kumi task ")
    keyboard.press("sho\t", "show ")
    keyboard.press("\t", "1 ")
    keyboard.press("--js\t", "--json ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_is_told_what_may_stand_there(shop: Kumi, environment: dict[str, str], shell: str) -> None:
    shop("task", "add", "First")
    shop("task", "add", "Second")
    group = shop("group", "create", "x", "--json").json["groupId"]
    shop("memory", "add", "linter", "--category", "tooling", "--title", "Ruff")
    assert asked(shell, "kumi tas", environment) == ["task"]
    assert asked(shell, "kumi task s", environment) == ["show"]
    assert sorted(asked(shell, "kumi task show ", environment)) == ["1", "2"]
    assert asked(shell, "kumi task assign 1 re", environment) == ["reviewer"]
    assert asked(shell, "kumi task add x --assignee pl", environment) == ["planner"]
    assert asked(shell, "kumi task update 1 --status can", environment) == ["cancelled"]
    assert asked(shell, "kumi group run grp", environment) == [group]
    assert asked(shell, "kumi group run x --role cod", environment) == ["coder"]
    assert asked(shell, "kumi memory show li", environment) == ["linter"]
    assert asked(shell, "kumi project show sh", environment) == ["shop"]
    assert asked(shell, "kumi setup wind", environment) == ["windsurf"]


def test_a_key_makes_no_board_and_complains_of_nothing(kumi: Kumi, home: Path, environment: dict[str, str]) -> None:
    assert asked("bash", "kumi task show ", environment) == []
    assert not home.exists()
    home.mkdir()
    (home / "kumi.db").write_bytes(b"not a database" * 100)
    assert asked("bash", "kumi task show ", environment) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_can_read(kumi: Kumi, tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    file = tmp_path / "script"
    file.write_text(kumi("completion", shell).out)
    subprocess.run([program, "-n", str(file)], check=True)


def test_fish_offers_what_it_is_told(shop: Kumi, environment: dict[str, str], tmp_path: Path) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed here")
    (tmp_path / "kumi.fish").write_text(shop("completion", "fish").out)
    asking = f"source {tmp_path}/kumi.fish; complete -C 'kumi tas'"
    done = subprocess.run([fish, "-N", "-c", asking], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[:1] == ["task"]
