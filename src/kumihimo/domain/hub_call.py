"""A call through the hub, as it is kept: which tool of which server, for which run, how long, how much, and how it ended."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from kumihimo.domain.event import Change

KIND = "hub.called"


class HubCall(Struct, frozen=True):
    """`outcome` is `ok` or the code of an error."""

    id: str
    project_id: str | None
    execution_id: str | None
    server: str | None
    tool: str
    at: datetime
    duration_ms: float
    attempts: int
    cached: bool
    sent_bytes: int
    received_bytes: int
    outcome: str

    @property
    def told(self) -> Change[HubCall]:
        return Change(self, KIND, self.at)
