"""By what a repository is known from outside, without asking git."""

from __future__ import annotations

import os
from pathlib import Path


def is_repository(folder: Path) -> bool:
    """Whether git would work here: `.git` is a file in a worktree. An empty folder of that name is none, as sandboxes leave one
    where they keep others from making it."""
    mark = folder / ".git"
    return mark.is_file() or os.path.lexists(mark / "HEAD")
