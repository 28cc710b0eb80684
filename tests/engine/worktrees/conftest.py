"""Git as on a machine of its own: no configuration of whoever runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.worktrees.lab import Lab

CONFIGURATION = """[user]
    name = Tester
    email = tester@example.org
[protocol "file"]
    allow = always
"""


@pytest.fixture(autouse=True)
def _own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "gitconfig").write_text(CONFIGURATION)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def bench(tmp_path: Path) -> Lab:
    """A repository without a worktree."""
    return Lab.made(tmp_path)


@pytest.fixture
def lab(bench: Lab) -> Lab:
    """A repository with a worktree that nobody holds."""
    bench.create()
    return bench
