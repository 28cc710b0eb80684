"""Bringing work to its target: conflicts seen before they happen, a rebase that can't break anything, a fast-forward."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from kumihimo.domain.errors import ChangesInTheWay, GitError, NotFastForward, UnfinishedOperation, UnknownRevision
from kumihimo.engine.worktrees.entry import entries
from kumihimo.engine.worktrees.git import NOBODY, Git, Output, identity, printable
from kumihimo.engine.worktrees.merged import is_merged as is_merged
from kumihimo.engine.worktrees.operation import operation_in
from kumihimo.engine.worktrees.record import Records
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.worktree import Worktree

_MERGE = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
# Commits that only carry a tree to a merge: the same ones each time, so that looking often costs no space.
_CARRIER = {
    f"GIT_{who}_{part}": value
    for who in ("AUTHOR", "COMMITTER")
    for part, value in {**NOBODY, "DATE": "1000000000 +0000"}.items()
}


class Rebased(Struct, frozen=True):
    head: str


class Conflict(Struct, frozen=True):
    """`commit` is the one that does not fit."""

    files: tuple[str, ...]
    commit: str


def coming_conflicts(repository: Repository, one: str, other: str, base: str | None = None) -> list[str]:
    """The files in which the two would conflict. Trees need the base that both began from; commits know it themselves."""
    git = repository.git.within(_CARRIER)
    if base is not None:
        one, other = (git.text("commit-tree", f"{side}^{{tree}}", "-p", base, "-m", "-") for side in (one, other))
    return _merge(git, one, other)[1]


def rebase(worktree: Worktree, onto: str) -> Rebased | Conflict:
    """Put the commits of the worktree on another commit, as `git rebase` does: merges are left out, authors stay.

    Worked out in memory: until it has succeeded, nothing of the worktree is touched.
    """
    git = Git(worktree.path)
    goal = Repository.open(worktree.path).commit_of(onto)
    head = _ready(git)
    # What is reachable from both needs no moving, and a branch that has merged its target fits as it is.
    done = head if git.says("merge-base", "--is-ancestor", goal, head) else _replay(git, goal, head)
    if isinstance(done, Conflict):
        return done
    if done != head:
        # Refuses where an untracked file would be overwritten.
        output = git.run("reset", "--keep", "--quiet", done, fine=(0, 1, 128))
        if output.code:
            raise _in_the_way(git, ("reset", "--keep"), output)
    Records(Repository.open(worktree.path)).rebase(worktree.name, goal)
    return Rebased(done)


def fast_forward(repository: Repository, target: str, commit: str) -> None:
    """Move the target to a commit that goes on from it; where it is checked out, the checkout follows."""
    ref = f"refs/heads/{target}"
    before = repository.find(ref)
    wanted = repository.commit_of(commit)
    checkouts = [entry for entry in entries(repository) if entry.branch == target and not entry.missing]
    standing = [entry.path for entry in checkouts if not (repository.bare and entry.path == repository.top)]
    if before is None and repository.git.maybe("symbolic-ref", "--quiet", "HEAD") != ref:
        raise UnknownRevision(printable(target), printable(str(repository.top)))
    if before is not None and not repository.git.says("merge-base", "--is-ancestor", before, wanted):
        raise NotFastForward(printable(target), wanted[:12])
    if before == wanted:
        return
    _nobody_rebases(repository, ref)
    if not standing:
        repository.git.run("update-ref", "-m", "kumi: fast-forward", ref, wanted, before or "")
        return
    checkout = Git(standing[0])
    output = checkout.run("merge", "--ff-only", "--quiet", wanted, fine=(0, 1, 128))
    if output.code:
        raise _in_the_way(checkout, ("merge", "--ff-only"), output)


def _nobody_rebases(repository: Repository, ref: str) -> None:
    """A rebase of the target that has stopped half way would be cut off from its branch."""
    for entry in entries(repository):
        for mark in ("rebase-merge/head-name", "rebase-apply/head-name"):
            file = (entry.admin or repository.common_folder) / mark
            if file.is_file() and file.read_bytes().strip() == ref.encode("utf-8", "surrogateescape"):
                raise UnfinishedOperation(printable(str(entry.path)), "rebase")


def _ready(git: Git) -> str:
    """The head of a worktree that can be rebased: no half-done operation, nothing uncommitted."""
    admin = Path(git.text("rev-parse", "--absolute-git-dir"))
    operation = operation_in(admin)
    if operation is not None:
        raise UnfinishedOperation(printable(str(git.folder)), operation)
    changed = git.names(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty"
    )
    if changed:
        raise ChangesInTheWay(printable(str(git.folder)), [printable(line[3:]) for line in changed])
    return git.text("rev-parse", "--verify", "HEAD^{commit}")


def _replay(git: Git, onto: str, head: str) -> str | Conflict:
    committer = git.within(identity(git))
    current = onto
    for commit in git.lines("rev-list", "--reverse", "--topo-order", "--no-merges", f"{onto}..{head}"):
        tree, files = _picked(git.within(_CARRIER), current, commit)
        if files:
            return Conflict(tuple(files), commit)
        same = tree == git.text("rev-parse", f"{current}^{{tree}}")
        # Its change is there already. One that was empty from the start says something, and stays.
        if same and not _empty(git, commit):
            continue
        current = _again(committer, commit, tree, current)
    return current


def _picked(git: Git, current: str, commit: str) -> tuple[str, list[str]]:
    """What the commit changed, on top of `current`: a merge whose base is the commit's own parent."""
    parent = git.maybe("rev-parse", "--verify", "--quiet", f"{commit}^")
    before = ["-p", parent] if parent else ["-p", git.text("commit-tree", _nothing(git), "-m", "-")]
    sides = [git.text("commit-tree", f"{side}^{{tree}}", *before, "-m", "-") for side in (current, commit)]
    return _merge(git, *sides)


def _again(git: Git, commit: str, tree: str, parent: str) -> str:
    """The commit with another tree and parent: author, dates, encoding and words byte for byte as they were."""
    headers, _, words = git.run("cat-file", "commit", commit).out.partition("\n\n")
    kept = [line for line in headers.split("\n") if line.startswith(("author ", "encoding "))]
    committer = f"committer {git.text('var', 'GIT_COMMITTER_IDENT')}"
    # The author stands before the committer, the encoding after it. A signature was for another commit.
    lines = [f"tree {tree}", f"parent {parent}", kept[0], committer, *kept[1:]]
    return git.text("hash-object", "-t", "commit", "-w", "--stdin", given="\n".join(lines) + f"\n\n{words}")


def _merge(git: Git, one: str, other: str) -> tuple[str, list[str]]:
    output = git.run(*_MERGE, one, other, fine=(0, 1))
    tree, *files = [name for name in output.out.split("\0") if name]
    return tree, sorted(set(files)) if output.code else []


def _empty(git: Git, commit: str) -> bool:
    before = git.maybe("rev-parse", "--verify", "--quiet", f"{commit}^^{{tree}}") or _nothing(git)
    return before == git.text("rev-parse", f"{commit}^{{tree}}")


def _nothing(git: Git) -> str:
    return git.text("hash-object", "-t", "tree", "-w", "--stdin")


def _in_the_way(git: Git, command: tuple[str, ...], output: Output) -> GitError:
    """Git lists the files that it would have to overwrite, each behind a tab, or names the one."""
    said = output.err
    files = re.findall(r"^\t(.+)$", said, re.MULTILINE) or re.findall(r"Entry '(.+)' (?:not uptodate|would be)", said)
    if files:
        return ChangesInTheWay(printable(str(git.folder)), [printable(file) for file in files])
    return git.refusal(command, output)
