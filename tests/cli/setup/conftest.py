"""`kumi setup` in a home of its own: nothing of the real home is read or written."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kumihimo.surfaces.cli import verbs
from kumihimo.surfaces.cli.verbs import Way
from tests.cli.conftest import Kumi, Result

MOVING = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "VSCODE_PORTABLE",
    "VSCODE_APPDATA",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
)

OURS = {"command": "kumi", "args": ["mcp", "serve"]}


class Desk(msgspec.Struct):
    """A user's home, a repository in it with the command line inside, and the installed program."""

    home: Path
    repository: Path
    program: Path
    type_it: Kumi

    def setup(self, *words: object) -> Result:
        return self.type_it("setup", *words)

    def file(self, name: str, content: str | bytes = "") -> Path:
        """A file of the repository, or of the home where the name begins with `~/`, written as given."""
        path = self.home / name[2:] if name.startswith("~/") else self.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


@pytest.fixture(autouse=True)
def _setup_is_a_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    if not any(way.words == "setup" for way in verbs.WAYS):
        monkeypatch.setattr(verbs, "WAYS", (*verbs.WAYS, Way("setup", "setup.command", "Set a client up.")))


@pytest.fixture
def desk(kumi: Kumi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in MOVING:
        monkeypatch.delenv(name, raising=False)
    home, repository = tmp_path / "user", tmp_path / "user" / "shop"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    program = tmp_path / "bin" / "kumi"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(repository)
    return Desk(home, repository, program, kumi)


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, to see that nothing changed."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
