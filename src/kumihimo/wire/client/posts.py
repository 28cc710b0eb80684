"""What is posted beside the calls: answers to what a server asks, and that an answer is not wanted any more."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable

from kumihimo.wire.client.background import Background

# How long a server may take for one, which needs no answer.
SECONDS = 10.0
# How many are under way at once: each takes a connection.
AT_ONCE = 4
# How many may wait for those.
MOST_WAITING = 4096


class Posts:
    """They go in the order in which they came. `tell` sends one, until it has been taken."""

    def __init__(self, tell: Callable[[bytes], Awaitable[None]], most_bytes: int) -> None:
        self._tell = tell
        self._most_bytes = most_bytes
        self._waiting: deque[bytes] = deque()
        self._held = 0
        self._working = 0
        self._background = Background()

    def add(self, message: bytes) -> bool:
        """False, with nothing sent, where too many wait already."""
        if len(self._waiting) >= MOST_WAITING or self._held + len(message) > self._most_bytes:
            return False
        self._waiting.append(message)
        self._held += len(message)
        if self._working < AT_ONCE:
            self._working += 1
            self._background.start(self._work())
        return True

    async def end(self) -> None:
        self._waiting.clear()
        await self._background.end()

    async def _work(self) -> None:
        try:
            while self._waiting:
                message = self._waiting.popleft()
                self._held -= len(message)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SECONDS):
                        await self._tell(message)
        finally:
            self._working -= 1
