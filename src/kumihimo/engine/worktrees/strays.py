"""Commits that no branch knows: made on no branch, or left behind by a reset, and found only in a worktree's reflog."""

from __future__ import annotations

from kumihimo.engine.worktrees.git import Git

# Refs that stay when a worktree goes. `refs/bisect` and `refs/worktree` go with it.
_STAYING = ("refs/heads", "refs/tags", "refs/remotes", "refs/kumi", "refs/notes")


def strays(git: Git) -> list[str]:
    """The newest commits of each such line: the older ones hang on them."""
    known = _reflog(git)
    head = git.maybe("rev-parse", "--verify", "--quiet", "HEAD")
    tips = sorted(known | ({head} if head else set()))
    if not tips:
        return []
    staying = [f"--glob={ref}" for ref in _STAYING]
    # What a branch has been on before is in the branch's own reflog, which stays with the branch.
    before = git.lines("log", "--walk-reflogs", "--format=%H", "--branches", "--")
    asked = "\n".join([*tips, *(f"^{commit}" for commit in sorted(set(before)))])
    lost = [
        line.split()
        for line in git.lines("rev-list", "--ignore-missing", "--parents", "--stdin", "--not", *staying, given=asked)
    ]
    parents = {parent for commit in lost for parent in commit[1:]}
    return [commit[0] for commit in lost if commit[0] not in parents]


def _reflog(git: Git) -> set[str]:
    """Where the head has been. Read from the file: git itself shows nothing of it while the branch has no commit."""
    file = git.path("logs/HEAD")
    if not file.is_file():
        return set()
    names = {word for line in file.read_bytes().splitlines() for word in line.split(b" ", 2)[:2]}
    return {name.decode("ascii") for name in names if name.strip(b"0")}
