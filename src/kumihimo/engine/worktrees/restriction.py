"""A scope made visible in a worktree: what is excluded is not checked out, what may not be written is read-only.

This is to help an honest agent, not to hold a dishonest one: what was written is checked by a diff after the run.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from kumihimo.domain.agent import Scope
from kumihimo.engine.worktrees.git import Git
from kumihimo.engine.worktrees.scope import allowed

_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def restrict(git: Git, scope: Scope, before: Scope) -> None:
    """From the scope that was in force before to this one."""
    if scope.exclude != before.exclude:
        leave_out(git, scope.exclude)
    if scope.write or before.write:
        _set_writable(git, scope)


def leave_out(git: Git, globs: Sequence[str]) -> None:
    """Check out everything but these. A file in them that was changed stays, so that nothing is lost."""
    if not globs:
        git.run("sparse-checkout", "disable")
        return
    lines = ["/*", *(f"!{_anchored(glob)}" for glob in globs)]
    git.run("sparse-checkout", "set", "--no-cone", "--stdin", given="\n".join(lines) + "\n")


def _anchored(glob: str) -> str:
    """As git reads patterns: from the top of the repository, as ours are."""
    return "/" + glob.removeprefix("./").lstrip("/")


def _set_writable(git: Git, scope: Scope) -> None:
    """Git minds only whether a file can be executed, so this is no change to it."""
    mask = os.umask(0)
    os.umask(mask)
    for path in git.names("ls-files", "-z"):
        place = git.folder / path
        try:
            mode = place.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            # Deleted, or not checked out.
            continue
        if not stat.S_ISREG(mode):
            continue
        wanted = mode | (_WRITE & ~mask) if allowed(path, scope) else mode & ~_WRITE
        if wanted != mode:
            place.chmod(stat.S_IMODE(wanted))
