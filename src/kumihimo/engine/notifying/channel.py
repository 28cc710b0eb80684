"""What every way of telling has in common."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from kumihimo.domain.notice import Notice
from kumihimo.domain.notice_channel import NoticeKind


class Undelivered(Exception):
    """A notice did not arrive; the text says why, and holds no secret. `again`: another try may do."""

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


class Channel(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def kinds(self) -> Collection[NoticeKind]: ...

    def tell(self, notice: Notice) -> None:
        """Return once it has arrived; Undelivered where it has not, after a bounded time."""
        ...
