"""The content of a worktree as it is this moment, as a tree of git, made beside the worktree's own index."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from kumihimo.domain.errors import FilterMissing
from kumihimo.engine.worktrees.filters import without_filters
from kumihimo.engine.worktrees.git import Git


def state_tree(path: Path) -> str:
    """Tracked and untracked files, without the ignored ones. Safe while an agent works in it."""
    git = Git(path)
    with tempfile.TemporaryDirectory(prefix="kumi-index-") as folder:
        index = Path(folder) / "index"
        own = git.path("index")
        if own.exists():
            # A copy, so that only files that changed since are read again. With its time: by that git knows which files
            # were written in the same moment and have to be read all the same.
            shutil.copy2(own, index)
        beside = git.within({"GIT_INDEX_FILE": str(index)})
        try:
            return _written(beside)
        except FilterMissing:
            return _written(without_filters(beside))


def _written(git: Git) -> str:
    # `--sparse`: what was written where nothing is checked out counts too.
    # A file that goes away while we read, or a repository without a commit, is passed over: it ends with code 1.
    git.run("add", "--all", "--sparse", "--ignore-errors", fine=(0, 1))
    unmerged = git.names("diff-files", "-z", "--name-only", "--diff-filter=U")
    if unmerged:
        git.run("update-index", "-z", "--force-remove", "--stdin", given="".join(f"{path}\0" for path in unmerged))
    return git.text("write-tree")
