"""Whether work has arrived at its target, also where it was squashed, rebased or picked on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from kumihimo.engine.worktrees.git import Git
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.state import Merged

# Raw and complete, whatever the user's diff settings are; a binary file shows by its full object names.
_PATCH = ("-r", "-p", "--root", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
          "--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers", "--submodule=short",
          "--src-prefix=a/", "--dst-prefix=b/", "--no-relative", "-O/dev/null")  # fmt: skip
# Above so many paths the list does not fit a command line any more: then every commit is looked at.
_PATHS = 500


def is_merged(repository: Repository, work: str, target: str) -> Merged | None:
    """How the target has the work: by its commits, by the same patches, or by the same content. None where it has not."""
    git = repository.git
    commit, goal = repository.commit_of(work), repository.commit_of(target)
    if git.says("merge-base", "--is-ancestor", commit, goal):
        return "reachable"
    base = git.maybe("merge-base", commit, goal)
    if base is None:
        return "tree" if _tree(git, commit) == _tree(git, goal) else None
    arrived = _patches(git, _candidates(git, base, commit, goal))
    if _each_arrived(git, commit, goal, arrived):
        return "patch"
    if _adds_nothing(git, commit, goal):
        return "tree"
    whole = _identity(git.run("diff-tree", *_PATCH, base, commit).out.split("\n"))
    return "patch" if whole in arrived else None


def _each_arrived(git: Git, commit: str, goal: str, arrived: set[str]) -> bool:
    """Every commit of the work has its like in the target. A merge may hold changes of its own, so it never has."""
    if git.text("rev-list", "--max-count=1", "--merges", f"{goal}..{commit}"):
        return False
    own = _patches(git, git.lines("rev-list", f"{goal}..{commit}"))
    # Commits without a change have no patch: by themselves they prove nothing.
    return bool(own) and own <= arrived


def _adds_nothing(git: Git, commit: str, goal: str) -> bool:
    """Merged into the target, the work would change nothing of it."""
    output = git.run("merge-tree", "--write-tree", "--no-messages", goal, commit, fine=(0, 1))
    return output.code == 0 and output.out.strip() == _tree(git, goal)


def _candidates(git: Git, base: str, commit: str, goal: str) -> list[str]:
    """The commits of the target that touch what the work touches."""
    touched = git.names("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit)
    paths = touched if 0 < len(touched) <= _PATHS else []
    return git.lines("rev-list", "--no-merges", f"{base}..{goal}", "--", *paths)


def _patches(git: Git, commits: list[str]) -> set[str]:
    if not commits:
        return set()
    said = git.run("diff-tree", "--stdin", *_PATCH, given="\n".join(commits) + "\n").out
    return {_identity(patch) for patch in _by_commit(said.split("\n"), set(commits)) if patch}


def _by_commit(lines: list[str], commits: set[str]) -> Iterator[list[str]]:
    patch: list[str] = []
    for line in lines:
        if line in commits:
            yield patch
            patch = []
        elif line:
            patch.append(line)
    yield patch


def _identity(patch: list[str]) -> str:
    """A patch without where in the file it stands, so that it is the same on another base.

    Unlike git's own patch ids this minds white space: in some languages it is the program.
    """
    digest = hashlib.sha256()
    objects = ""
    for line in filter(None, patch):
        if line.startswith("@@ "):
            line = "@@"
        elif line.startswith("index "):
            objects = line
            continue
        elif line.startswith("Binary files "):
            line = objects
        digest.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return digest.hexdigest()


def _tree(git: Git, commit: str) -> str:
    return git.text("rev-parse", f"{commit}^{{tree}}")
