"""What we remember of each worktree beside what git does: a small file in the repository's own folder."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import msgspec
from msgspec import Struct

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import InvalidValue
from kumihimo.engine.worktrees.repository import Repository

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$))*")


class Record(Struct, frozen=True):
    """`admin` is the name of git's folder for it, by which it is found again after a move."""

    name: str
    admin: str
    branch: str | None
    scope: Scope = Scope()


class Records:
    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._folder = repository.notes / "worktrees"

    def names(self) -> list[str]:
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def find(self, name: str) -> Record | None:
        try:
            raw = self._file(name).read_text("ascii")
        except FileNotFoundError:
            return None
        return msgspec.convert(json.loads(raw), Record)

    def keep(self, record: Record) -> None:
        # Not msgspec's own JSON: a branch or glob may hold bytes that are not UTF-8.
        replace(self._file(record.name), json.dumps(msgspec.to_builtins(record)).encode("ascii"))

    def forget(self, name: str) -> None:
        self._file(name).unlink(missing_ok=True)

    def base(self, name: str) -> str | None:
        """Where the work began. A ref, so that git keeps the commit."""
        return self._repository.find(_base(name))

    def rebase(self, name: str, commit: str) -> None:
        self._repository.git.run("update-ref", _base(name), commit)

    def forget_base(self, name: str) -> None:
        self._repository.git.run("update-ref", "-d", _base(name))

    def _file(self, name: str) -> Path:
        return self._folder / f"{checked(name)}.json"


def checked(name: str) -> str:
    """A name that can be a folder and a part of a ref."""
    if not _NAME.fullmatch(name) or len(name) > 120:
        raise InvalidValue("name", "not_a_name")
    return name


def replace(file: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.{os.getpid()}.new")
    fresh.write_bytes(content)
    fresh.replace(file)


def _base(name: str) -> str:
    return f"refs/kumi/base/{checked(name)}"
