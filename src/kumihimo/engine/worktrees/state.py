"""What a worktree holds that might exist nowhere else."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Merged = Literal["reachable", "patch", "tree"]


class State(Struct, frozen=True):
    """Paths are relative to the worktree. `ignored` has only what is found nowhere else and can't be made again."""

    head: str | None
    branch: str | None
    staged: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    unmerged: tuple[str, ...] = ()
    intended: tuple[str, ...] = ()
    """Only announced to the index, by `git add -N`."""
    untracked: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Tracked, but not checked out: outside of a sparse checkout."""
    size: int = 0
    """Bytes of the untracked and ignored files."""
    ahead: int = 0
    """Commits that the target does not have."""
    merged: Merged | None = None
    target_gone: bool = False
    operation: str | None = None
    submodules: tuple[str, ...] = ()
    """Submodules with changes or commits that exist only here."""
    strays: tuple[str, ...] = ()
    """Commits that only this worktree's own reflog still knows."""

    @property
    def dirty(self) -> bool:
        """Tracked files differ from the last commit."""
        return bool(self.staged or self.modified or self.deleted or self.unmerged)

    @property
    def safe(self) -> bool:
        """Nothing would be lost with it."""
        unique = self.dirty or self.untracked or self.ignored or self.strays or self.operation or self.submodules
        return self.merged is not None and not unique
