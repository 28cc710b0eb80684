"""A notice: something that a person wants to hear of without looking, told once and known by an id that stays the same."""

from __future__ import annotations

import hashlib
from datetime import datetime

from msgspec import Struct

from kumihimo.domain.event import Event
from kumihimo.domain.notice_channel import NoticeKind


class Notice(Struct, frozen=True):
    """`subject` is the id of the task, run, group or handoff; `project` the name of its project; `url` where it can be seen."""

    id: str
    kind: NoticeKind
    title: str
    text: str
    subject: str
    project: str | None
    at: datetime
    url: str | None = None


def identify(event: Event, subject: str, kind: NoticeKind) -> str:
    """The id of what an event means for a person: the same whenever it is worked out, on whichever host."""
    source = f"{event.cursor} {event.kind} {event.subject} {subject} {kind}"
    return f"ntc_{hashlib.sha256(source.encode()).hexdigest()[:20]}"
