"""Keeps every call through the hub as an event. Nobody waits for that: they are written together, a moment later."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.hub_call import HubCall
from kumihimo.domain.identifiers import Identifiers
from kumihimo.hub.desk import Called
from kumihimo.surfaces.hubs.seats import Seat

Write = Callable[[list[tuple[str, HubCall]]], Awaitable[None]]

SECONDS = 0.1
# Beyond that the board is not taking what it is given: better to say so than to fill the memory.
MOST_WAITING = 100_000


class Recorder:
    def __init__(self, write: Write, identifiers: Identifiers) -> None:
        self._write = write
        # Every call has an id of its own: those of one process begin alike and are counted.
        self._prefix = identifiers.new("hub_call")
        self._count = 0
        self._noted: list[tuple[float, Seat, Called]] = []
        self._waiting: list[tuple[str, HubCall]] = []
        self._writing: asyncio.Task[None] | None = None
        self._complained = False
        self._closing = asyncio.Event()
        self._turn = asyncio.Lock()

    def note(self, seat: Seat, called: Called) -> None:
        """On the way of every call: nothing is done here that can be done later."""
        if len(self._noted) < MOST_WAITING:
            self._noted.append((time.time(), seat, called))
            if self._writing is None:
                self._writing = asyncio.get_running_loop().create_task(self._keep(), name="keep hub calls")

    async def flush(self) -> None:
        """See to it that everything noted so far is written, where the board takes it."""
        async with self._turn:
            await self._flush()

    async def close(self) -> None:
        """Everything that was noted is written before this ends."""
        self._closing.set()
        if self._writing is not None:
            # Not cancelled: what is being written would be written once more.
            await self._writing
        await self.flush()

    async def _keep(self) -> None:
        try:
            while (self._noted or self._waiting) and not self._closing.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SECONDS):
                        await self._closing.wait()
                await self.flush()
        finally:
            self._writing = None

    async def _flush(self) -> None:
        noted, self._noted = self._noted, []
        batch = self._waiting + [self._record(*it) for it in noted]
        self._waiting = []
        if not batch:
            return
        try:
            await self._write(batch)
            self._complained = False
        except KumihimoError as error:
            self._waiting = batch[-MOST_WAITING:]
            if not self._complained:
                self._complained = True
                sys.stderr.write(f"calls through the hub could not be kept, and are tried again: {error}\n")

    def _record(self, at: float, seat: Seat, called: Called) -> tuple[str, HubCall]:
        self._count += 1
        call = HubCall(
            id=f"{self._prefix}{self._count:x}",
            project_id=seat.project_id,
            execution_id=seat.execution_id,
            server=called.server,
            tool=called.tool[:200],
            at=datetime.fromtimestamp(at, UTC),
            duration_ms=called.milliseconds,
            attempts=called.attempts,
            cached=called.cached,
            sent_bytes=called.sent_bytes,
            received_bytes=called.received_bytes,
            outcome=called.outcome,
        )
        return seat.actor, call
