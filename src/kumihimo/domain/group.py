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
OnFailure = Literal["continue", "stop"]

# What the ids of all groups begin with.
PREFIX = "grp-"

STATES = StateTable("group", ("active",), {("active", "delete"): "deleted"})


class Group(Struct, frozen=True):
    id: str
    project_id: str | None
    description: str
    mode: GroupMode
    status: GroupStatus
    created_at: datetime
    deleted_at: datetime | None = None
    stages: int | None = None
    """How many stages its plan has; None while it has none."""
    stage: int | None = None
    on_failure: OnFailure | None = None
    host: str | None = None
    """Where its runs are to happen unless they say otherwise: the name, the id or a label of a host."""

    def plan(self, stages: int, on_failure: OnFailure, at: datetime) -> Change[Group]:
        """It is given its stages, once."""
        return Change(replace(self, stages=stages, stage=0, on_failure=on_failure), "group.planned", at)

    def advance(self, stage: int, at: datetime) -> Change[Group]:
        return Change(replace(self, stage=stage), "group.stage_advanced", at)

    def delete(self, at: datetime) -> Change[Group]:
        STATES.next(self.id, self.status, "delete")
        return Change(replace(self, status="deleted", deleted_at=at), "group.deleted", at)


def identify(created_at: datetime, hexadecimal: str) -> str:
    """The id of a group: `grp-{unix seconds}-{4 hex}`."""
    return f"{PREFIX}{int(created_at.timestamp())}-{hexadecimal}"
