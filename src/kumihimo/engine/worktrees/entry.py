"""What git itself says about its worktrees."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from kumihimo.engine.worktrees.repository import Repository


class Entry(Struct, frozen=True):
    """One line of `git worktree list`. `admin` is the folder that git keeps for it; the main checkout has none."""

    path: Path
    admin: Path | None
    head: str | None
    branch: str | None
    locked: str | None

    @property
    def missing(self) -> bool:
        """Its folder was deleted, or moved without telling git."""
        return not self.path.exists()


def entries(repository: Repository) -> list[Entry]:
    """Every worktree, the main one first."""
    said = repository.git.run("worktree", "list", "--porcelain", "-z").out
    admins = _admins(repository.common_folder)
    found: list[Entry] = []
    for block in said.split("\0\0"):
        words = dict(_pair(line) for line in block.split("\0") if line)
        if "worktree" not in words:
            continue
        path = Path(words["worktree"])
        head = words.get("HEAD", "")
        branch = words.get("branch")
        found.append(
            Entry(
                path=path,
                admin=admins.get(path),
                # Where its branch has no commit, git writes zeros.
                head=head if head.strip("0") else None,
                branch=branch.removeprefix("refs/heads/") if branch else None,
                locked=words.get("locked"),
            )
        )
    return found


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition(" ")
    return name, value


def _admins(common_folder: Path) -> dict[Path, Path]:
    found: dict[Path, Path] = {}
    for pointer in sorted((common_folder / "worktrees").glob("*/gitdir")):
        target = pointer.read_bytes().decode("utf-8", "surrogateescape").strip()
        # It may be written relative to where it stands.
        found[Path(os.path.normpath(pointer.parent / target)).parent] = pointer.parent
    return found
