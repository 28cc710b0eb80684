"""A live session with one server, and what was heard by it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any, NamedTuple, cast

from kumihimo.wire.client.session import Session

_LISTS = ("tools", "prompts", "resources")


class Listed(NamedTuple):
    """A list of a server by its entries' names, and until when it is good."""

    entries: dict[str, Any]
    until: float
    # Whether changes were heard of when it was asked for.
    heard: bool = False


class Live:
    """A session and how many use it now. One that is left is closed when its last use has ended."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.uses = 0
        # For who waits for the end of the last use, which hardly anybody does.
        self._unused: asyncio.Event | None = None
        # Whether the server would tell that a list of it has changed.
        self.hears = False
        # Of which of its lists it would.
        self.announces = frozenset(what for what in _LISTS if _announces(session, what))
        self.lists: dict[str, Listed] = {}
        # How often a list was said to have changed.
        self.changes = 0
        self.listing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def release(self) -> None:
        self.uses -= 1
        if not self.uses and self._unused is not None:
            self._unused.set()

    async def unused(self) -> None:
        while self.uses:
            self._unused = asyncio.Event()
            await self._unused.wait()


def _announces(session: Session, what: str) -> bool:
    told: Any = session.greeting.capabilities.get(what)
    return isinstance(told, dict) and cast("dict[str, Any]", told).get("listChanged") is True
