"""A context entry: one thing that was learnt about a task, kept for whoever works on it next."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

ContextKind = Literal[
    "progress", "findings", "blockers", "next_steps",
    "note", "decision", "assumption", "blocker", "reference", "artifact",
]  # fmt: skip

# The four that are saved together: the newest of each is the state of the work.
SUMMARY_KINDS: tuple[ContextKind, ...] = ("progress", "findings", "blockers", "next_steps")
NOTE_KINDS: tuple[ContextKind, ...] = ("note", "decision", "assumption", "blocker", "reference", "artifact")


class ContextEntry(Struct, frozen=True):
    id: str
    project_id: str
    task_id: str
    agent_id: str | None
    kind: ContextKind
    content: str
    created_at: datetime
