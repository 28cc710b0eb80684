"""A memory: a decision of the project that agents are to know. Only the active ones reach them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.event import Change
from kumihimo.domain.states import StateTable

MemoryStatus = Literal["draft", "active", "archived"]

STATES = StateTable.of_targets(
    "memory",
    ("draft", "active", "archived"),
    {"draft": ("active", "archived"), "active": ("draft", "archived"), "archived": ("active",)},
)


class Memory(Struct, frozen=True):
    """Known by its slug, which is its own only within its project; `id` is the two together."""

    id: str
    project_id: str
    slug: str
    category: str
    title: str
    summary: str
    content: str
    status: MemoryStatus
    created_at: datetime
    updated_at: datetime

    def move(self, to: str, at: datetime) -> Change[Memory]:
        status = STATES.next(self.slug, self.status, to)
        return Change(replace(self, status=status, updated_at=at), f"memory.{status}", at)

    def edit(self, at: datetime, **fields: object) -> Change[Memory]:
        return Change(replace(self, **fields, updated_at=at), "memory.updated", at)


def identify(project_id: str, slug: str) -> str:
    """The id of a memory on the whole board."""
    return f"{project_id}/{slug}"
