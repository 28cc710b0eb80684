"""Time, as the Runner has it: everything that waits asks here, so that a day can pass in a test."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """On the wall, in UTC."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def wait(self, event: asyncio.Future[Any], seconds: float) -> bool:
        """Whether it is done, asked when it is, or else after so long. It is never cancelled by this."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Future[Any], seconds: float) -> bool:
        done, _ = await asyncio.wait((event,), timeout=seconds)
        return bool(done)
