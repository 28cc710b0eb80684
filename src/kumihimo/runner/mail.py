"""Mail: reports of ends on their way to the server."""

from __future__ import annotations

import asyncio

from kumihimo.runner.backoff import Backoff
from kumihimo.runner.clock import Clock
from kumihimo.runner.desk import Desk, Rejected, Trouble
from kumihimo.runner.outbox import Outbox
from kumihimo.runner.records import Records
from kumihimo.runner.report import Report
from kumihimo.runner.told import Tell


class Mail:
    def __init__(self, desk: Desk, outbox: Outbox, records: Records, clock: Clock, tell: Tell) -> None:
        self._desk = desk
        self._outbox = outbox
        self._records = records
        self._clock = clock
        self._tell = tell
        self._waiting = asyncio.Event()
        self._backoff = Backoff(1.0, 60.0)

    def holds(self, instance_id: str) -> bool:
        return self._outbox.holds(instance_id)

    def send(self, report: Report) -> None:
        """It will arrive, if not now then later."""
        error = self._outbox.put(report)
        if error is not None:
            self._tell("unwritten", {"reason": str(error)})
        self._waiting.set()

    def look(self) -> None:
        """There may be something that an earlier Runner has left."""
        self._waiting.set()

    async def deliver_for_ever(self) -> None:
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            try:
                await self.deliver()
                self._backoff.reset()
            except Trouble:
                # Told by whoever asks for work, who meets the same.
                await self._clock.sleep(self._backoff.next())
                self._waiting.set()

    async def deliver(self) -> None:
        """Everything that waits. Trouble where the server can't be told now."""
        for report in self._outbox.waiting():
            try:
                await self._desk.report(report)
                self._tell("delivered", {"instanceId": report.instance_id})
            except Rejected as rejected:
                # The agent or the project is not there any more: nobody wants to know.
                self._tell("rejected", {"instanceId": report.instance_id, "reason": str(rejected)})
            self._done(report)

    def _done(self, report: Report) -> None:
        try:
            self._records.note_done(report.instance_id)
        except OSError as error:
            # The report stays, and is told again: the server knows it already then.
            self._tell("unwritten", {"reason": str(error)})
            return
        self._outbox.delivered(report)
