"""An event: what a thing became, and when. The value in it is whole, so the newest event of each thing is the board."""

from __future__ import annotations

from datetime import datetime
from typing import Generic, TypeVar

import msgspec

V = TypeVar("V", bound=msgspec.Struct)
# What happened and left nothing on the board: told once, and of no use to who makes the board again from its log.
PASSING = ("hub.called", "health.started", "health.checked", "health.completed", "host.started")


class Change(msgspec.Struct, Generic[V], frozen=True):
    """A new value with the event that made it: the only thing a repository can write.

    `before` is the value that it was made from, where somebody knows it: then only what is otherwise is written.
    """

    value: V
    kind: str
    at: datetime
    before: V | None = None


class Event(msgspec.Struct, frozen=True):
    """One line of the log. `cursor` is opaque; `subject` is the id of the thing, `data` its value as JSON."""

    cursor: str
    kind: str
    subject: str
    project_id: str | None
    actor: str
    at: datetime
    data: msgspec.Raw

    @property
    def noun(self) -> str:
        return self.kind.partition(".")[0]
