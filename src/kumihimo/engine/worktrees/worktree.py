"""A worktree of ours, as it was when it was looked at."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Worktree(Struct, frozen=True):
    """`branch` is None where it is on none, `head` where its branch has no commit. `snapshot` is the newest there is."""

    name: str
    path: Path
    branch: str | None
    base: str
    head: str | None
    snapshot: str | None = None
