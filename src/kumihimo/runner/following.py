"""Following: the instances that are at work, each to its end."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from kumihimo.runner.clock import Clock
from kumihimo.runner.crew import Crew
from kumihimo.runner.desk import Desk, Rejected, Trouble
from kumihimo.runner.ending import end_all
from kumihimo.runner.instance import Instance
from kumihimo.runner.mail import Mail
from kumihimo.runner.pair import Pair
from kumihimo.runner.report import Report
from kumihimo.runner.told import Fact, Kind, Tell

# A third of the time after which the server takes an instance for gone.
ALIVE_SECONDS = 40.0


class Following:
    def __init__(
        self, desk: Desk, mail: Mail, crew: Crew, clock: Clock, tell: Tell, *, most: int, silence: timedelta
    ) -> None:
        self._desk = desk
        self._mail = mail
        self._crew = crew
        self._clock = clock
        self._tell = tell
        self._most = most
        self._silence = silence
        self._live: dict[str, Instance] = {}
        self._room = asyncio.Event()
        self._room.set()
        self._tasks: asyncio.TaskGroup | None = None

    def begin(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks

    @property
    def full(self) -> bool:
        return len(self._live) >= self._most

    def has(self, pair: Pair) -> bool:
        return any(instance.record.pair == pair for instance in self._live.values())

    async def room(self) -> None:
        """Wait until one more may be started."""
        await self._room.wait()

    def follow(self, instance: Instance) -> None:
        assert self._tasks is not None, "begun before"
        self._live[instance.id] = instance
        self._look_for_room()
        self._tasks.create_task(self._follow(instance))

    async def _follow(self, instance: Instance) -> None:
        try:
            await self._to_its_end(instance)
        finally:
            instance.close()
            del self._live[instance.id]
            self._look_for_room()

    async def _to_its_end(self, instance: Instance) -> None:
        await self._say_alive(instance)
        while not await self._clock.wait(instance.over, ALIVE_SECONDS):
            await self._say_alive(instance)
            last = instance.silent_since()
            if last is not None and self._clock.now() - last > self._silence:
                self._say("hung", instance)
                await end_all(instance.id, instance.wrapper(), self._clock)
        # What it has left behind must not go on as somebody who is over.
        await end_all(instance.id, None, self._clock)
        end = await instance.end()
        self._mail.send(end.report)
        self._say("ended", instance, exitCode=end.report.exit_code, signal=end.report.signal, reason=end.verdict.reason)
        self._crew.note(instance.record.pair, instance.record.client, end.verdict)

    async def _say_alive(self, instance: Instance) -> None:
        record = instance.record
        report = Report(
            agent_id=record.agent_id, project_id=record.project_id, instance_id=record.id, state="alive",
            working_directory=record.directory,
        )  # fmt: skip
        try:
            await self._desk.report(report)
        except Rejected as rejected:
            self._say("rejected", instance, reason=str(rejected))
        except Trouble:
            # Told by whoever asks for work, who meets the same. The next time is soon enough.
            return

    def _look_for_room(self) -> None:
        if self.full:
            self._room.clear()
        else:
            self._room.set()

    def _say(self, kind: Kind, instance: Instance, **facts: Fact) -> None:
        record = instance.record
        told: dict[str, Fact] = {
            "agentId": record.agent_id, "projectId": record.project_id, "instanceId": record.id,
        }  # fmt: skip
        self._tell(kind, {**told, **facts})
