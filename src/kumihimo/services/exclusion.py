"""Our own folder in a project, `.kumi`, is nobody's work: git is told to overlook it, without touching a tracked file."""

from __future__ import annotations

from pathlib import Path

from kumihimo.domain.errors import GitError
from kumihimo.engine.worktrees.marks import is_repository

PATTERN = ".kumi/"


def keep_out_of_git(folder: Path) -> str | None:
    """What is wrong, where git can't be told; None where it was told, or there is no repository."""
    if not any(map(is_repository, (folder, *folder.parents))):
        return None
    # Loaded where there is a repository: most doors never see one.
    from kumihimo.engine.worktrees.repository import Repository

    try:
        Repository.open(folder).exclude(PATTERN)
    except GitError as error:
        return str(error)
    return None
