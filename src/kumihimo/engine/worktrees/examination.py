"""Looking at a worktree without touching it: what it holds, and whether its target has that."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from kumihimo.domain.errors import FilterMissing, GitError
from kumihimo.engine.worktrees import leftovers
from kumihimo.engine.worktrees.entry import Entry
from kumihimo.engine.worktrees.filters import without_filters
from kumihimo.engine.worktrees.git import Git, disk_errors, first_useful_line, printable
from kumihimo.engine.worktrees.merged import is_merged
from kumihimo.engine.worktrees.operation import operation_in
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.state import Merged, State
from kumihimo.engine.worktrees.strays import strays
from kumihimo.engine.worktrees.submodules import with_own_work

_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--no-renames", "--untracked-files=all",
           "--ignored=no", "--ignore-submodules=none", "--no-ahead-behind")  # fmt: skip


class _Status(Struct):
    head: str | None = None
    branch: str | None = None
    staged: list[str] = msgspec.field(default_factory=list[str])
    modified: list[str] = msgspec.field(default_factory=list[str])
    deleted: list[str] = msgspec.field(default_factory=list[str])
    unmerged: list[str] = msgspec.field(default_factory=list[str])
    intended: list[str] = msgspec.field(default_factory=list[str])
    untracked: list[str] = msgspec.field(default_factory=list[str])
    submodules: list[str] = msgspec.field(default_factory=list[str])


def examine(repository: Repository, path: Path, target: str | None) -> State:
    """The state of the worktree at `path`. `target` None is a target that is not there."""
    with disk_errors(path):
        return _examine(repository, Git(path), target)


def _examine(repository: Repository, git: Git, target: str | None) -> State:
    path = git.folder
    admin = Path(git.text("rev-parse", "--absolute-git-dir"))
    try:
        said = _all_seen(git, *_STATUS)
    except FilterMissing:
        said = _all_seen(without_filters(git), *_STATUS)
    status = _read(said)
    hidden, skipped = _hidden(git)
    untracked = leftovers.all_files(path, status.untracked)
    ignored = _ignored(repository, git)
    goal = repository.find(target) if target is not None else None
    return State(
        head=status.head,
        branch=status.branch,
        staged=tuple(status.staged),
        modified=tuple(sorted({*status.modified, *hidden})),
        deleted=tuple(status.deleted),
        unmerged=tuple(status.unmerged),
        intended=tuple(status.intended),
        untracked=tuple(untracked),
        ignored=tuple(ignored),
        skipped=tuple(skipped),
        size=leftovers.size(path, (*untracked, *ignored)),
        ahead=_ahead(git, status.head, goal),
        merged=_merged(repository, status.head, goal),
        target_gone=goal is None,
        operation=operation_in(admin),
        submodules=tuple(sorted({*status.submodules, *with_own_work(admin)})),
        strays=tuple(strays(git)),
    )


def _all_seen(git: Git, *arguments: str) -> list[str]:
    """The names that git lists. It only warns of a folder that it may not open, and what is in there would be lost."""
    output = git.run(*arguments)
    closed = [line for line in output.err.splitlines() if "could not open directory" in line]
    if closed:
        raise GitError(arguments[0], printable(str(git.folder)), first_useful_line(closed[0]))
    return [name for name in output.out.split("\0") if name]


def _merged(repository: Repository, head: str | None, goal: str | None) -> Merged | None:
    # Where nothing was ever committed there is nothing to merge.
    if head is None:
        return "reachable"
    return is_merged(repository, head, goal) if goal is not None else None


def _ahead(git: Git, head: str | None, goal: str | None) -> int:
    if head is None:
        return 0
    return int(git.text("rev-list", "--count", head, *([f"^{goal}"] if goal else [])))


def _ignored(repository: Repository, git: Git) -> list[str]:
    names = _all_seen(git, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return leftovers.unique_ignored(git.folder, None if repository.bare else repository.top, names)


def _read(said: Iterable[str]) -> _Status:
    status = _Status()
    for line in said:
        kind, _, rest = line.partition(" ")
        if kind == "#":
            _read_header(status, rest)
        elif kind == "?":
            status.untracked.append(rest)
        elif kind == "u":
            status.unmerged.append(rest.split(" ", 9)[9])
        else:
            _read_change(status, rest)
    return status


def _read_header(status: _Status, rest: str) -> None:
    name, _, value = rest.partition(" ")
    if name == "branch.oid" and value != "(initial)":
        status.head = value
    elif name == "branch.head" and value != "(detached)":
        status.branch = value


def _read_change(status: _Status, rest: str) -> None:
    letters, submodule, *_, path = rest.split(" ", 7)
    if letters[0] != ".":
        status.staged.append(path)
    if letters == ".A":
        status.intended.append(path)
    if letters[1] == "D":
        status.deleted.append(path)
    elif letters[1] != "." and submodule.startswith("S"):
        status.submodules.append(path)
    elif letters[1] != ".":
        status.modified.append(path)


def _hidden(git: Git) -> tuple[list[str], list[str]]:
    """Files that git was told not to look at: those that were changed all the same, and those that are not checked out."""
    marked = [line.split(" ", 1) for line in git.names("ls-files", "-z", "-v")]
    quiet = [path for mark, path in marked if mark.islower() or mark == "S"]
    there = [path for path in quiet if (git.folder / path).is_symlink() or (git.folder / path).exists()]
    skipped = sorted({path for mark, path in marked if mark.upper() == "S"} - set(there))
    if not there:
        return [], skipped
    known = dict(_objects(git))
    changed = [path for path in there if _object(git, path) != known.get(path)]
    return changed, skipped


def _objects(git: Git) -> Iterable[tuple[str, str]]:
    for line in git.names("ls-files", "-z", "--stage"):
        facts, _, path = line.partition("\t")
        yield path, facts.split(" ")[1]


def _object(git: Git, path: str) -> str:
    if (git.folder / path).is_symlink():
        return git.text("hash-object", "--stdin", given=str((git.folder / path).readlink()))
    try:
        return git.text("hash-object", "--", path)
    except FilterMissing:
        return git.text("hash-object", "--no-filters", "--", path)


def examine_missing(entry: Entry) -> State:
    """Of a worktree whose folder is gone: what git's own folder for it still knows."""
    assert entry.admin is not None
    git = Git(entry.admin, {"GIT_DIR": str(entry.admin), "GIT_WORK_TREE": str(entry.admin)})
    staged = git.names("diff-index", "--cached", "-z", "--name-only", "--no-renames", entry.head or _empty_tree(git))
    unmerged = sorted({line.partition("\t")[2] for line in git.names("ls-files", "-z", "--unmerged")})
    return State(
        head=entry.head,
        branch=entry.branch,
        staged=tuple(staged) if (entry.admin / "index").exists() else (),
        unmerged=tuple(unmerged),
        operation=operation_in(entry.admin),
        strays=tuple(strays(git)),
    )


def _empty_tree(git: Git) -> str:
    return git.text("hash-object", "-t", "tree", "-w", "--stdin")
