"""A group: runs that belong together, all at once or stage by stage."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.event import Change
from kumihimo.domain.states import StateTable

GroupMode = Literal["concurrent", "sequential"]
GroupStatus = Literal["active", "deleted"]

STATES = StateTable("group", ("active",), {("active", "delete"): "deleted"})


class Group(Struct, frozen=True):
    id: str
    project_id: str | None
    description: str
    mode: GroupMode
    status: GroupStatus
    created_at: datetime
    deleted_at: datetime | None = None

    def delete(self, at: datetime) -> Change[Group]:
        STATES.next(self.id, self.status, "delete")
        return Change(replace(self, status="deleted", deleted_at=at), "group.deleted", at)


def identify(created_at: datetime, hexadecimal: str) -> str:
    """The id of a group: `grp-{unix seconds}-{4 hex}`."""
    return f"grp-{int(created_at.timestamp())}-{hexadecimal}"
