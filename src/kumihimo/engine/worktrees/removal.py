"""What became of a worktree that was to be removed, and why."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kumihimo.domain.messages import Language, worktrees

Why = Literal[
    "merged", "saved", "would_save", "gone", "held", "in_use", "locked", "unmerged", "target_gone", "operation", "too_large",
    "submodule", "symlink", "changed_meanwhile", "broken", "failed",
]  # fmt: skip


class Removal(Struct, frozen=True):
    """`snapshot` is the ref that was made first, where anything would have been lost. In a dry run `removed` is what would be."""

    name: str
    removed: bool
    why: Why
    snapshot: str | None = None
    facts: dict[str, str | int] = {}

    @property
    def sentence(self) -> str:
        return self.said("en")

    def said(self, language: Language) -> str:
        """Why, and what to do next where something is to be done."""
        # A task's worktree is called after its number, which is what the commands take.
        known = {"name": self.name, "reference": self.name.removeprefix("task-"), "snapshot": self.snapshot}
        return worktrees(language)[self.why].format_map({**known, **self.facts})
