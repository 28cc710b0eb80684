"""A handoff: what one agent leaves for the next, and whether it was taken up."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.errors import HandoffAlreadyAccepted
from kumihimo.domain.event import Change
from kumihimo.domain.states import StateTable

STATES = StateTable("handoff", ("pending",), {("pending", "accept"): "accepted"})


class Handoff(Struct, frozen=True):
    """Without `to_agent_id` it waits for anybody in the project."""

    id: str
    project_id: str
    task_id: str
    from_agent_id: str
    to_agent_id: str | None
    summary: str
    context: str | None
    recommendations: str | None
    next_steps: tuple[str, ...]
    warnings: tuple[str, ...]
    created_at: datetime
    accepted_at: datetime | None
    accepted_by: str | None

    @property
    def status(self) -> str:
        return "pending" if self.accepted_at is None else "accepted"

    def accept(self, agent_id: str, at: datetime) -> Change[Handoff]:
        if self.accepted_at is not None:
            raise HandoffAlreadyAccepted(self.id)
        return Change(replace(self, accepted_at=at, accepted_by=agent_id), "handoff.accepted", at)
