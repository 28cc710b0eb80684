"""The command line in this process: what it prints, and how it ends."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kumihimo.surfaces.cli.program import run


class Result(msgspec.Struct):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


Kumi = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and nothing of the user's own around it."""
    for name in (
        "KUMI_DB",
        "KUMI_PROJECT",
        "KUMI_LANG",
        "KUMI_VERBOSE",
        "KUMI_MAX_CONCURRENT",
        "LC_ALL",
        "LC_MESSAGES",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("KUMI_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def kumi(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kumi:
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def type_it(*words: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run([str(word) for word in words])
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return type_it


@pytest.fixture
def shop(kumi: Kumi) -> Kumi:
    """A command line in a folder that is a project."""
    assert kumi("init").code == 0
    return kumi
