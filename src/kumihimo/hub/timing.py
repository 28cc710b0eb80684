"""The time as the hub knows it: given to it, so that a test need not wait."""

from __future__ import annotations

import asyncio
import time


class Timing:
    def now(self) -> float:
        """Seconds, from anywhere, that only go up."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
