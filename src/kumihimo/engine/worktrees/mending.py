"""Worktrees that were moved, or broken, by somebody who did not tell git."""

from __future__ import annotations

import os
from pathlib import Path

from kumihimo.domain.errors import NotARepository, WorktreeInTheWay
from kumihimo.engine.worktrees.entry import Entry, entries
from kumihimo.engine.worktrees.git import Git, printable
from kumihimo.engine.worktrees.repository import Repository


def reconnect(repository: Repository, entry: Entry | None, place: Path) -> bool:
    """Have git and the folder find each other again: after the project was moved, or a `.git` file was lost.

    False where there is nothing to mend. A folder that leads to another repository is never touched: that of a copied project
    leads to the original.
    """
    if entry is not None and entry.path.is_dir() and not (entry.path / ".git").exists():
        arguments: list[str] = []
    elif is_orphan(place) or (_leads_to(place) or Path("/")).is_relative_to(repository.common_folder):
        arguments = [str(place)]
    else:
        return False
    # What can't be repaired is said, and ends with code 1: the caller looks again.
    repository.git.run("worktree", "repair", *arguments, fine=(0, 1))
    return True


def healthy(entry: Entry) -> bool:
    """Whether the folder is there and leads to the folder that git keeps for it."""
    if entry.missing or entry.admin is None or not (entry.path / ".git").is_file():
        return False
    try:
        found = Git(entry.path).text("rev-parse", "--absolute-git-dir")
    except NotARepository:
        return False
    return Path(found).resolve() == entry.admin.resolve()


def is_orphan(path: Path) -> bool:
    """A worktree whose folder in git is not where it says."""
    target = _leads_to(path)
    return target is not None and not target.exists()


def _leads_to(path: Path) -> Path | None:
    pointer = path / ".git"
    if not pointer.is_file():
        return None
    written = pointer.read_bytes().decode("utf-8", "surrogateescape").strip()
    return path / written.removeprefix("gitdir: ")


def undo_adoption(path: Path) -> None:
    """Put back a folder that was put aside to be adopted by somebody who was killed before it was done."""
    aside = _aside(path)
    if aside.exists() and not os.path.lexists(path):
        aside.rename(path)


def _aside(path: Path) -> Path:
    return path.with_name(f".adopting-{path.name}")


def readopt(repository: Repository, name: str, path: Path, branch: str) -> Entry:
    """Give an orphan a new folder in git, on a branch; its files stay as they are and show as changes."""
    aside = _aside(path)
    if aside.exists():
        raise WorktreeInTheWay(name, printable(str(aside)))
    path.rename(aside)
    try:
        repository.git.run("worktree", "add", "--no-checkout", str(path), branch)
        (path / ".git").replace(aside / ".git")
        path.rmdir()
    finally:
        if not path.exists():
            aside.rename(path)
    # The index only: what it says is there and is not, shows as deleted.
    Git(path).run("reset", "--mixed", "--quiet", fine=(0, 1))
    return next(entry for entry in entries(repository) if entry.path == path)
