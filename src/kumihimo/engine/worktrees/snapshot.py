"""Snapshots: all that a worktree holds and its branch does not, as one commit under `refs/kumi/snapshots/`.

Made by plumbing alone: no hook runs, no name is needed, and neither the index nor a file of the worktree is touched. Blobs
hold the bytes of the disk, past every filter, and are numbered: a path that git would not take into a tree is kept too. What
git calls unchanged is not in it: it comes back as git checks it out.

    manifest.json   what is what
    entries         the index, conflicts included, as `git ls-files --stage` gives it
    files/N         changed, untracked and ignored files
    staged/N        blobs that only the index knows
    admin/N         git's own files for a rebase or merge that has stopped half way

Its parents are the head and every other commit that only this worktree knows.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from kumihimo.domain.agent import Scope
from kumihimo.engine.worktrees.git import NOBODY, Git
from kumihimo.engine.worktrees.manifest import Manifest, SavedFile
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.state import State

REFS = "refs/kumi/snapshots"
# What a ref was before: nothing. Of no length, so that it fits every kind of object name.
_NOTHING = ""
# Files of git for one worktree that are made anew with it, or hold nothing of anybody's work.
_NOT_SAVED = {"HEAD", "index", "gitdir", "commondir", "locked", "modules", "COMMIT_EDITMSG"}
_WHO = {f"GIT_{who}_{part}": value for who in ("AUTHOR", "COMMITTER") for part, value in NOBODY.items()}


class Snapshot(Struct, frozen=True):
    """`seen` is how each file was when it was read, so that a later change is noticed."""

    ref: str
    seen: dict[str, tuple[int, int, int]]


class Subject(Struct, frozen=True):
    """A worktree to be saved. `path` None: its folder is gone, and only git's own folder for it is left."""

    name: str
    path: Path | None
    admin: Path
    base: str
    scope: Scope


def take(repository: Repository, subject: Subject, state: State, at: datetime) -> Snapshot:
    """Save it all. GitError where anything can't be read or written: then there is no snapshot, and nothing may go."""
    git = _git(repository, subject)
    paths = sorted({*state.modified, *state.unmerged, *state.untracked, *state.ignored}) if subject.path else []
    # A conflict may be about a file that one side has deleted.
    paths = [path for path in paths if subject.path and os.path.lexists(subject.path / path)]
    seen = {path: signature(subject.path / path) for path in paths if subject.path}
    files, blobs = _files(git, paths)
    admin = _admin_files(subject.admin)
    entries = git.run("ls-files", "--stage", "-z").out
    manifest = Manifest(
        name=subject.name,
        branch=state.branch,
        head=state.head,
        base=subject.base,
        scope=subject.scope,
        files=tuple(files),
        deleted=state.deleted,
        skipped=state.skipped,
        marks=dict(_marks(git)),
        modes=dict(_modes(git)) if subject.path else {},
        intended=state.intended,
        admin=tuple(admin),
        only_index=subject.path is None,
    )
    tree = _tree(
        git,
        {
            "files": blobs,
            "staged": _staged(git, entries, state.head),
            "admin": [_blob(git, (subject.admin / name).read_bytes()) for name in admin],
        },
        {"manifest.json": manifest.encoded(), "entries": entries.encode("utf-8", "surrogateescape")},
    )
    parents = _parents(git, subject.admin, state)
    return Snapshot(_commit(git, subject.name, tree, parents, at), seen)


def signature(path: Path) -> tuple[int, int, int]:
    """Enough to notice that a file was changed since."""
    found = path.lstat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def refs(repository: Repository, name: str) -> list[str]:
    """The snapshots of a worktree, the oldest first."""
    return repository.git.lines("for-each-ref", "--format=%(refname)", "--sort=refname", f"{REFS}/{name}/")


def newest(repository: Repository, name: str) -> str | None:
    return next(reversed(refs(repository, name)), None)


def _git(repository: Repository, subject: Subject) -> Git:
    if subject.path is not None:
        return Git(subject.path, _WHO)
    # Of a worktree without its folder, git still has the index: any folder will do for a working tree.
    return Git(repository.common_folder, {**_WHO, "GIT_DIR": str(subject.admin), "GIT_WORK_TREE": str(subject.admin)})


def _files(git: Git, paths: Sequence[str]) -> tuple[list[SavedFile], list[str]]:
    files: list[SavedFile] = []
    blobs: dict[str, str] = {}
    plain: list[str] = []
    for path in paths:
        place = git.folder / path
        mode = place.lstat().st_mode
        kind = SavedFile(path, stat.S_IMODE(mode), link=stat.S_ISLNK(mode), folder=stat.S_ISDIR(mode))
        files.append(kind)
        if kind.link:
            blobs[path] = _blob(git, os.fsencode(place.readlink()))
        elif kind.folder:
            blobs[path] = _blob(git, b"")
        elif "\n" in path:
            blobs[path] = git.text("hash-object", "-w", "--no-filters", "--", path)
        else:
            plain.append(path)
    # Whole paths: git would read a line that begins with a quotation mark as a quoted name.
    lines = "".join(f"{git.folder / path}\n" for path in plain)
    if plain:
        blobs |= zip(plain, git.lines("hash-object", "-w", "--no-filters", "--stdin-paths", given=lines), strict=True)
    return files, [blobs[path] for path in paths]


def _marks(git: Git) -> Iterator[tuple[str, str]]:
    """What git was told not to look at: a small letter is `--assume-unchanged`, S is `--skip-worktree`."""
    for line in git.names("ls-files", "-z", "-v"):
        mark, _, path = line.partition(" ")
        if mark.islower() or mark == "S":
            yield path, mark


def _modes(git: Git) -> Iterator[tuple[str, int]]:
    """Permissions of tracked files that a checkout would not give them."""
    mask = os.umask(0)
    os.umask(mask)
    for line in git.names("ls-files", "-z", "--stage"):
        facts, _, path = line.partition("\t")
        place = git.folder / path
        if not os.path.lexists(place) or not stat.S_ISREG(place.lstat().st_mode):
            continue
        mode = stat.S_IMODE(place.lstat().st_mode)
        if mode != (0o777 if facts.startswith("100755") else 0o666) & ~mask:
            yield path, mode


def _admin_files(admin: Path) -> list[str]:
    found = (path for path in sorted(admin.rglob("*")) if path.is_file() and path.suffix != ".lock")
    names = (str(path.relative_to(admin)) for path in found)
    return [name for name in names if name.split("/")[0] not in _NOT_SAVED]


def _staged(git: Git, entries: str, head: str | None) -> list[str]:
    """Blobs of the index that no commit holds. A submodule's entry is a commit of somewhere else."""
    known = set[str]()
    if head is not None:
        known = {line.split()[2] for line in git.names("ls-tree", "-r", "-z", "--full-tree", head)}
    fields = [line.partition("\t")[0].split(" ") for line in entries.split("\0") if line]
    return sorted({name for mode, name, _ in fields if mode != "160000"} - known)


def _tree(git: Git, folders: dict[str, list[str]], files: dict[str, bytes]) -> str:
    lines = [f"100644 blob {_blob(git, content)}\t{name}" for name, content in files.items()]
    for name, blobs in folders.items():
        inner = "".join(f"100644 blob {blob}\t{number:06}\0" for number, blob in enumerate(blobs))
        lines.append(f"040000 tree {git.text('mktree', '-z', given=inner)}\t{name}")
    return git.text("mktree", "-z", given="".join(f"{line}\0" for line in lines))


def _blob(git: Git, content: bytes) -> str:
    return git.text("hash-object", "-w", "--no-filters", "--stdin", given=content)


def _parents(git: Git, admin: Path, state: State) -> list[str]:
    """The head first, then what else would be forgotten, commits of a stopped rebase or merge included."""
    marks = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "rebase-merge/orig-head", "rebase-merge/onto",
             "rebase-apply/orig-head", "rebase-apply/onto")  # fmt: skip
    named = [line for mark in marks if (admin / mark).is_file() for line in (admin / mark).read_text("ascii").split()]
    named += [path.read_text("ascii").strip() for path in sorted((admin / "refs").rglob("*")) if path.is_file()]
    real = [commit for name in named if (commit := git.maybe("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"))]
    return _once([*([state.head] if state.head else []), *state.strays, *real])


def _once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _commit(git: Git, name: str, tree: str, parents: Sequence[str], at: datetime) -> str:
    words = [word for parent in parents for word in ("-p", parent)]
    commit = git.text("commit-tree", tree, *words, "-m", f"Snapshot of the worktree {name}")
    ref = f"{REFS}/{name}/{at:%Y%m%dT%H%M%S%fZ}"
    git.run("update-ref", ref, commit, _NOTHING)
    return ref
