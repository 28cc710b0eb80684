"""What was done in a worktree since its base: files and commits, uncommitted and untracked work included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from kumihimo.engine.worktrees.git import Git
from kumihimo.engine.worktrees.trees import state_tree

Status = Literal["added", "modified", "deleted", "renamed", "type_changed"]
_STATUSES: dict[str, Status] = {
    "A": "added", "M": "modified", "D": "deleted", "R": "renamed", "C": "added", "T": "type_changed",
}  # fmt: skip
_ASKED = ("diff-tree", "-r", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")


class FileChange(Struct, frozen=True):
    """`insertions` and `deletions` are lines; a binary file has none."""

    path: str
    status: Status
    insertions: int = 0
    deletions: int = 0
    binary: bool = False
    old_path: str | None = None


class CommitLine(Struct, frozen=True):
    id: str
    author: str
    subject: str


class Diff(Struct, frozen=True):
    files: tuple[FileChange, ...]
    commits: tuple[CommitLine, ...]
    """The newest first."""

    @property
    def insertions(self) -> int:
        return sum(file.insertions for file in self.files)

    @property
    def deletions(self) -> int:
        return sum(file.deletions for file in self.files)


def diff(path: Path, base: str) -> Diff:
    git = Git(path)
    tree = state_tree(path)
    counts = dict(_counts(git, base, tree))
    files = tuple(
        FileChange(path, status, *counts.get(path, (0, 0, False)), old_path=old)
        for path, status, old in _statuses(git, base, tree)
    )
    return Diff(files, tuple(_commits(git, base)))


def changed_paths(path: Path, base: str) -> list[str]:
    """Every path that differs; of a file that was moved, both."""
    return Git(path).names(*_ASKED, "--name-only", "--no-renames", base, state_tree(path))


def _statuses(git: Git, base: str, tree: str) -> Iterator[tuple[str, Status, str | None]]:
    words = iter(git.names(*_ASKED, "--name-status", "--find-renames", base, tree))
    for letter in words:
        first = next(words)
        if letter[0] in "RC":
            yield next(words), _STATUSES[letter[0]], first
        else:
            yield first, _STATUSES[letter[0]], None


def _counts(git: Git, base: str, tree: str) -> Iterator[tuple[str, tuple[int, int, bool]]]:
    words = iter(git.names(*_ASKED, "--numstat", "--find-renames", base, tree))
    for word in words:
        added, removed, path = word.split("\t", 2)
        if not path:
            # Of a rename both names follow, each by itself.
            next(words)
            path = next(words)
        binary = added == "-"
        yield path, (0 if binary else int(added), 0 if binary else int(removed), binary)


def _commits(git: Git, base: str) -> Iterator[CommitLine]:
    if git.maybe("rev-parse", "--verify", "--quiet", "HEAD") is None:
        return
    for line in git.names("log", "-z", "--no-show-signature", "--format=%H%x1f%an%x1f%s", f"{base}..HEAD", "--"):
        commit, author, subject = line.split("\x1f", 2)
        yield CommitLine(commit, author, subject)
