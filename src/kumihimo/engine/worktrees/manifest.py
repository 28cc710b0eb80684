"""What a snapshot says about itself: which of its blobs is which file, and how the worktree stood."""

from __future__ import annotations

import json

import msgspec
from msgspec import Struct

from kumihimo.domain.agent import Scope


class SavedFile(Struct, frozen=True):
    """`mode` as the disk had it: git itself would keep one bit of it, and a private file must stay private."""

    path: str
    mode: int
    link: bool = False
    folder: bool = False


class Manifest(Struct, frozen=True):
    """Files of the worktree that differ from its index, in the order of their blobs; then git's own files for it."""

    name: str
    branch: str | None
    head: str | None
    base: str
    scope: Scope
    files: tuple[SavedFile, ...] = ()
    deleted: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    marks: dict[str, str] = {}
    """Tracked files that git was told not to look at, with the letter of `git ls-files -v`."""
    modes: dict[str, int] = {}
    """Permissions of tracked files that a checkout would not give them."""
    intended: tuple[str, ...] = ()
    """Paths that were only announced to the index (`git add -N`)."""
    admin: tuple[str, ...] = ()
    only_index: bool = False
    """The folder itself was gone when this was made: its files are those of the index."""

    def encoded(self) -> bytes:
        # Not msgspec's own JSON: a path may hold bytes that are not UTF-8.
        return json.dumps(msgspec.to_builtins(self), indent=1).encode("ascii")


def decoded(raw: str) -> Manifest:
    return msgspec.convert(json.loads(raw), Manifest)
