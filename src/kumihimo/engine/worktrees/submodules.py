"""Submodules of a worktree: their repositories live in the worktree's own folder of git, and go away with it."""

from __future__ import annotations

from pathlib import Path

from kumihimo.engine.worktrees.git import Git


def with_own_work(admin: Path) -> list[str]:
    """The submodules with commits that no remote of theirs has, checked out or not."""
    modules = admin / "modules"
    return [str(path.relative_to(modules)) for path in _repositories(modules) if _own_commits(path)]


def _repositories(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    found = [folder] if (folder / "HEAD").is_file() and (folder / "objects").is_dir() else []
    inner = folder / "modules" if found else folder
    if not inner.is_dir():
        return found
    return found + [deeper for path in sorted(inner.iterdir()) for deeper in _repositories(path)]


def _own_commits(repository: Path) -> bool:
    # Its working tree is of no matter here, and may be gone.
    git = Git(repository, {"GIT_DIR": str(repository), "GIT_WORK_TREE": str(repository)})
    tips = ["--all", *(["HEAD"] if git.maybe("rev-parse", "--verify", "--quiet", "HEAD") else [])]
    return bool(git.text("rev-list", "--max-count=1", *tips, "--not", "--remotes"))
