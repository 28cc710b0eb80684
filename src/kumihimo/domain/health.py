"""Health: whether the program behind an agent is there and answers, as it was last looked at."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from kumihimo.domain.event import Change

HealthStatus = Literal["passed", "failed", "skipped"]
ModelStatus = Literal["valid", "invalid", "unknown"]


class Health(Struct, frozen=True):
    """`skipped`: the program is there, and nobody has asked it anything yet."""

    agent_id: str
    status: HealthStatus = "skipped"
    reason: str | None = None
    response_time_ms: int | None = None
    checked_at: datetime | None = None
    model_status: ModelStatus = "unknown"
    model_message: str | None = None
    model_checked_at: datetime | None = None
    program: str | None = None
    version: str | None = None

    @property
    def available(self) -> bool:
        return self.status != "failed" and self.model_status != "invalid"


class HealthNews(Struct, frozen=True):
    """That programs are being looked at, or were: for whoever watches. `id` is an agent's, or `all`."""

    id: str
    role: str | None = None

    def begun(self, at: datetime) -> Change[HealthNews]:
        return Change(self, "health.started", at)

    def found(self, at: datetime) -> Change[HealthNews]:
        return Change(self, "health.checked", at)

    def over(self, at: datetime) -> Change[HealthNews]:
        return Change(self, "health.completed", at)
