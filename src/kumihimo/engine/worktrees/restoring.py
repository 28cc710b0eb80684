"""A worktree out of its snapshot: the same files, the same index, the same branch, the same half-done rebase."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kumihimo.domain.errors import FilterMissing
from kumihimo.engine.worktrees.entry import entries
from kumihimo.engine.worktrees.filters import without_filters
from kumihimo.engine.worktrees.git import Git
from kumihimo.engine.worktrees.manifest import Manifest, SavedFile, decoded
from kumihimo.engine.worktrees.repository import Repository

_UNBORN = ""


def read(repository: Repository, ref: str) -> Manifest:
    return decoded(repository.git.text("cat-file", "blob", f"{ref}:manifest.json"))


def unfold(repository: Repository, ref: str, manifest: Manifest, path: Path) -> str | None:
    """Make the worktree at `path` as it was, and say on which branch it is."""
    repository.git.run("worktree", "add", "--no-checkout", "--detach", str(path), ref)
    git = Git(path)
    admin = Path(git.text("rev-parse", "--absolute-git-dir"))
    branch = _set_head(repository, git, manifest)
    _fill_index(git, ref, manifest)
    _fill_folder(git, ref, manifest)
    for number, name in enumerate(manifest.admin):
        file = admin / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_content(git, f"{ref}:admin/{number:06}"))
    # Times of files are new: have the index learn them. Files that differ make it say so by its exit code.
    git.run("update-index", "-q", "--refresh", fine=(0, 1, 128))
    _mark(git, "--skip-worktree", [path for path, mark in manifest.marks.items() if mark in "sS"])
    _mark(git, "--assume-unchanged", [path for path, mark in manifest.marks.items() if mark.islower()])
    return branch


def _set_head(repository: Repository, git: Git, manifest: Manifest) -> str | None:
    branch = manifest.branch
    if branch is None and manifest.head is not None:
        git.run("update-ref", "--no-deref", "HEAD", manifest.head)
        return None
    if branch is None:
        return None
    if manifest.head is not None:
        branch = _free_branch(repository, branch, manifest.head)
        if repository.find(f"refs/heads/{branch}") is None:
            git.run("update-ref", f"refs/heads/{branch}", manifest.head, _UNBORN)
    git.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    return branch


def _free_branch(repository: Repository, branch: str, head: str) -> str:
    """The branch itself where it is as it was and nobody is on it, else a new one beside it: none is ever moved back."""
    taken = {entry.branch for entry in entries(repository)}
    number = 0
    while True:
        name = branch if number == 0 else f"{branch}-restored" if number == 1 else f"{branch}-restored-{number}"
        if name not in taken and repository.find(f"refs/heads/{name}") in (None, head):
            return name
        number += 1


def _fill_index(git: Git, ref: str, manifest: Manifest) -> None:
    lines = _content(git, f"{ref}:entries").split(b"\0")
    intended = {os.fsencode(path) for path in manifest.intended}
    staged = [line for line in lines if line and line.partition(b"\t")[2] not in intended]
    git.run("read-tree", "--empty")
    git.run("update-index", "-z", "--index-info", given=b"".join(line + b"\0" for line in staged))
    _mark(git, "--skip-worktree", manifest.skipped)


def _mark(git: Git, option: str, paths: Iterable[str]) -> None:
    lines = "".join(f"{path}\0" for path in paths)
    if lines:
        git.run("update-index", "-z", option, "--stdin", given=lines)


def _fill_folder(git: Git, ref: str, manifest: Manifest) -> None:
    try:
        git.run("checkout-index", "--all", "--force", "--quiet", fine=(0, 1))
    except FilterMissing:
        without_filters(git).run("checkout-index", "--all", "--force", "--quiet", fine=(0, 1))
    for path in manifest.deleted:
        _delete(git.folder, path)
    for number, saved in enumerate(manifest.files):
        _write(git, f"{ref}:files/{number:06}", saved)
    for path, mode in manifest.modes.items():
        (git.folder / path).chmod(mode)
    if manifest.intended:
        git.run("add", "--intent-to-add", "--force", "--", *manifest.intended)


def _delete(top: Path, path: str) -> None:
    place = top / path
    if place.is_dir() and not place.is_symlink():
        # Of a submodule there is an empty folder.
        place.rmdir()
    else:
        place.unlink(missing_ok=True)
    for folder in place.parents:
        # An empty folder may be in the way of a file of the same name.
        if folder == top or not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()


def _write(git: Git, blob: str, saved: SavedFile) -> None:
    place = git.folder / saved.path
    if saved.folder:
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    # Anew, not into what is there: that may be a link to somewhere else.
    place.unlink(missing_ok=True)
    content = _content(git, blob)
    if saved.link:
        place.symlink_to(os.fsdecode(content))
        return
    place.touch(mode=0o600)
    place.write_bytes(content)
    place.chmod(saved.mode)


def _content(git: Git, blob: str) -> bytes:
    return git.run("cat-file", "blob", blob).out.encode("utf-8", "surrogateescape")
