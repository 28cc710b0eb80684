"""The loop: ask for work, start it, follow it to its end, tell the server; and wait, without asking, while there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from kumihimo.domain.errors import KumihimoError, WorktreeHeld
from kumihimo.runner.backoff import Backoff
from kumihimo.runner.clock import Clock
from kumihimo.runner.crew import Crew
from kumihimo.runner.desk import ActiveProject, Desk, Rejected, Taken, Trouble, Verdict
from kumihimo.runner.following import Following
from kumihimo.runner.mail import Mail
from kumihimo.runner.pair import Pair
from kumihimo.runner.place import Place, home_of, place_of
from kumihimo.runner.records import Record, Records
from kumihimo.runner.report import Report
from kumihimo.runner.starter import Errand, SpawnFailed, Starter
from kumihimo.runner.told import Fact, Kind, Tell
from kumihimo.runner.where import endpoint

# Between two rounds of questions where the server can't tell us when there is work, or has work that is not for us.
POLL_SECONDS = 5.0
# Whom a server does not let in it will not let in a moment later.
_REFUSED = (60.0, 3600.0)
# A server that is away is mostly back soon.
_AWAY = (1.0, 60.0)
# How often the start of an instance is told before it is given up: the server holds its place for two minutes.
_ANNOUNCEMENTS = 6
# How long another may take to leave the worktree.
_LOOKS, _LOOK_SECONDS = 30, 1.0


class Runner:
    def __init__(
        self,
        desk: Desk,
        starter: Starter,
        records: Records,
        mail: Mail,
        following: Following,
        crew: Crew,
        tell: Tell,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._desk = desk
        self._starter = starter
        self._records = records
        self._mail = mail
        self._following = following
        self._crew = crew
        self._tell = tell
        self._clock = clock
        self._new_id = new_id
        self._refused = Backoff(*_REFUSED)
        self._away = Backoff(*_AWAY)
        self._said: set[tuple[Kind, str]] = set()
        self._greeted = ""

    async def run(self) -> None:
        """Until it is cancelled. What was started goes on then, and is taken over by the next Runner."""
        async with asyncio.TaskGroup() as tasks:
            self._begin(tasks)
            tasks.create_task(self._mail.deliver_for_ever())
            while True:
                await self._following.room()
                try:
                    await self._round(wait=True)
                except Trouble as trouble:
                    await self._clock.sleep(self._pause_after(trouble))

    async def run_once(self) -> None:
        """Start what may start now, and wait for its end. Trouble where the server can't be asked or told."""
        trouble: Trouble | None = None
        async with asyncio.TaskGroup() as tasks:
            self._begin(tasks)
            try:
                await self._round(wait=False)
            except Trouble as met:
                # What was started before is followed to its end all the same.
                trouble = met
        if trouble is not None:
            raise trouble
        await self._mail.deliver()

    async def close(self) -> None:
        await self._desk.close()

    def _begin(self, tasks: asyncio.TaskGroup) -> None:
        """Take over what an earlier Runner of this home has left."""
        self._following.begin(tasks)
        self._records.sweep(self._clock.now())
        for record in self._records.open():
            if not self._mail.holds(record.id):
                self._take_over(record)
        self._mail.look()

    def _take_over(self, record: Record) -> None:
        folder = self._records.folder_of(record.id)
        if not folder.forbid():
            self._say("adopted", record.pair, instanceId=record.id, client=record.client)
            self._following.follow(self._starter.adopt(record, self._crew.passkey(record.agent_id) or ""))
        elif self._records.was_told(record):
            self._mail.send(_never_began(record, "The Runner was ended before it could start the agent."))
        else:
            self._records.forget(record)

    async def _round(self, *, wait: bool) -> None:
        """S1's questions once."""
        await self._greet()
        if wait and self._desk.waits:
            pairs = await self._desk.wait_for_work()
            self._recovered()
            if not pairs:
                return
            projects = await self._desk.projects()
        else:
            projects = await self._desk.projects()
            self._recovered()
            pairs = [Pair(agent, project.project_id) for project in projects for agent in project.agents]
        if not wait:
            # Who looks once is told why nothing begins; who waits was told when it failed.
            for pair in pairs:
                self._crew.tell_if_held(pair)
        known = {project.project_id: project for project in projects}
        started = [pair for pair in pairs if not self._following.full and await self._consider(pair, known)]
        if wait and not started:
            await self._clock.sleep(POLL_SECONDS)

    async def _greet(self) -> None:
        await self._desk.open()
        if self._desk.greeting != self._greeted:
            self._greeted = self._desk.greeting
            self._tell("connected", {"version": self._desk.version})

    async def _consider(self, pair: Pair, projects: dict[str, ActiveProject]) -> bool:
        """Whether it was started."""
        home = self._home(pair, projects)
        if home is None or self._following.has(pair) or self._crew.holds(pair, self._clock.now()):
            return False
        verdict = await self._desk.should_start(pair)
        if not verdict.should_start:
            return False
        self._crew.learn(pair, verdict.client_name)
        if self._crew.holds(pair, self._clock.now()):
            # Its client is parked, which could not be known before. The server's order lapses by itself.
            return False
        return await self._start(pair, home, verdict)

    def _home(self, pair: Pair, projects: dict[str, ActiveProject]) -> Path | None:
        """The project's folder; None where the pair is not ours to start."""
        if self._crew.passkey(pair.agent_id) is None:
            self._say_once("ignored", pair.agent_id, agentId=pair.agent_id)
            return None
        project = projects.get(pair.project_id)
        if project is None:
            return None
        home = home_of(project.working_directory)
        if home is None:
            self._say_once("homeless", pair.project_id, projectId=pair.project_id, directory=project.working_directory)
        return home

    async def _start(self, pair: Pair, home: Path, verdict: Verdict) -> bool:
        record = Record(
            self._new_id(), self._records.server, pair.agent_id, pair.project_id, verdict.client_name, str(home),
            self._clock.now(),
        )  # fmt: skip
        try:
            self._records.begin(record)
            self._records.note_told(record)
        except OSError as error:
            self._tell("unwritten", {"reason": str(error)})
            self._records.forget(record)
            self._crew.failed(pair)
            return False
        try:
            taken = await self._announce(record)
        except Rejected as rejected:
            # Somebody else was faster.
            self._say("rejected", pair, instanceId=record.id, reason=str(rejected))
            self._records.forget(record)
            return False
        try:
            await self._launch(record, home, taken, verdict.model)
        except (SpawnFailed, KumihimoError, OSError) as error:
            self._records.folder_of(record.id).forbid()
            self._say("unstartable", pair, instanceId=record.id, reason=str(error))
            self._mail.send(_never_began(record, str(error)))
            self._crew.failed(pair)
            return False
        return True

    async def _launch(self, record: Record, home: Path, taken: Taken, model: str | None) -> None:
        place = await self._place(record, home, taken)
        if place.directory != home:
            record = replace(record, directory=str(place.directory))
            self._records.begin(record)
        passkey = self._crew.passkey(record.agent_id) or ""
        instance = self._starter.start(
            Errand(record, place, passkey, taken.instance_token, endpoint(self._desk.worker_url, taken.mcp_path), model)
        )
        self._say("started", record.pair, instanceId=record.id, client=record.client)
        self._following.follow(instance)

    async def _place(self, record: Record, home: Path, taken: Taken) -> Place:
        """Whoever has handed the task over may still be on its way out."""
        for _ in range(_LOOKS):
            try:
                return await asyncio.to_thread(place_of, home, taken.worktree, record.id)
            except WorktreeHeld:
                await self._clock.sleep(_LOOK_SECONDS)
        return await asyncio.to_thread(place_of, home, taken.worktree, record.id)

    async def _announce(self, record: Record) -> Taken:
        """Tell the start, as often as it takes: told twice, it is still the same one."""
        report = Report(
            agent_id=record.agent_id,
            project_id=record.project_id,
            instance_id=record.id,
            state="starting",
            working_directory=record.directory,
        )
        for attempt in range(_ANNOUNCEMENTS):
            try:
                return await self._desk.report(report)
            except Trouble as trouble:
                if attempt == _ANNOUNCEMENTS - 1:
                    self._mail.send(_never_began(record, "The server could not be reached to start the agent."))
                    raise
                await self._clock.sleep(self._pause_after(trouble))
        raise AssertionError("the last attempt returned or raised")

    def _pause_after(self, trouble: Trouble) -> float:
        seconds = (self._refused if trouble.refused else self._away).next()
        self._tell("refused" if trouble.refused else "unreachable", {"reason": trouble.reason, "seconds": seconds})
        return seconds

    def _recovered(self) -> None:
        self._refused.reset()
        self._away.reset()

    def _say(self, kind: Kind, pair: Pair, **facts: Fact) -> None:
        self._tell(kind, {"agentId": pair.agent_id, "projectId": pair.project_id, **facts})

    def _say_once(self, kind: Kind, key: str, **facts: Fact) -> None:
        if (kind, key) not in self._said:
            self._said.add((kind, key))
            self._tell(kind, facts)


def _never_began(record: Record, why: str) -> Report:
    return Report(
        agent_id=record.agent_id,
        project_id=record.project_id,
        instance_id=record.id,
        state="exited",
        working_directory=record.directory,
        last_lines=why,
    )
