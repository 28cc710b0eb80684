"""A session: the lease of one agent on one project. At most one is live, whatever races."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.event import Change
from kumihimo.domain.states import StateTable

SessionStatus = Literal["live", "ended"]
# Why a session is over. `process_died` needs proof: an unknown process is not a dead one.
EndReason = Literal["completed", "logout", "expired", "process_died", "closed"]

LIFETIME = timedelta(seconds=3600)

STATES = StateTable("session", ("live",), {("live", "touch"): "live", ("live", "end"): "ended"})


class Process(Struct, frozen=True):
    """Which process this is, on which boot of which machine: a pid alone is given out again."""

    host: str

    boot_id: str
    pid: int
    start_ticks: int


class Session(Struct, frozen=True):
    id: str
    agent_id: str
    project_id: str
    status: SessionStatus
    started_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None
    end_reason: EndReason | None = None
    summary: str | None = None
    process: Process | None = None

    def expired(self, now: datetime) -> bool:
        return self.status == "live" and self.expires_at <= now

    def touch(self, at: datetime) -> Change[Session] | None:
        """Used: its time starts anew. None where it was used within the same second."""
        STATES.next(self.id, self.status, "touch")
        until = at + LIFETIME
        if until - self.expires_at < timedelta(seconds=1):
            return None
        return Change(replace(self, expires_at=until), "session.touched", at)

    def end(self, reason: EndReason, at: datetime, summary: str | None = None) -> Change[Session]:
        STATES.next(self.id, self.status, "end")
        ended = replace(self, status="ended", ended_at=at, end_reason=reason, summary=summary)
        return Change(ended, "session.ended", at)
