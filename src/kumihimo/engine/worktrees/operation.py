"""What has stopped half way in a worktree: a rebase, a merge, a cherry-pick."""

from __future__ import annotations

from pathlib import Path

_MARKS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "sequencer": "cherry-pick",
    "BISECT_LOG": "bisect",
}


def operation_in(admin: Path) -> str | None:
    """By the files that git keeps for it in the folder of the checkout."""
    return next((operation for mark, operation in _MARKS.items() if (admin / mark).exists()), None)
