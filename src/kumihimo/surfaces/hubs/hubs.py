"""The hubs that a process has opened, and the desks at which its callers sit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kumihimo.domain.hub_call import HubCall
from kumihimo.hub.call import NOBODY, Asking
from kumihimo.hub.desk import Desk
from kumihimo.hub.settling import AGENTS, Settling
from kumihimo.hub.statistics import Counts
from kumihimo.operations.operation import Caller
from kumihimo.surfaces.hubs.recorder import Recorder
from kumihimo.surfaces.hubs.seats import Seat
from kumihimo.surfaces.hubs.watched_hub import LOOK_SECONDS, WatchedHub

if TYPE_CHECKING:
    from kumihimo.domain.identifiers import Identifiers
    from kumihimo.settings import Settings
    from kumihimo.surfaces.hubs.recorder import Write

# What is known of a caller is looked up again after so long: its project may move, its permission change.
SEAT_SECONDS = 5.0
_MOST_SEATS = 4096
HISTORY = timedelta(days=1)

Read = Callable[[datetime], Awaitable[list[HubCall]]]
FindSeat = Callable[[Caller], Awaitable[Seat]]
_Seated = tuple[float, Seat, Desk]


class Hubs:
    """Used by one event loop. `find_seat` asks the board, in whatever thread may do so."""

    def __init__(
        self,
        settings: Settings,
        identifiers: Identifiers,
        find_seat: FindSeat,
        write: Write,
        read: Read,
        settling: Settling = AGENTS,
    ) -> None:
        self._settings = settings
        self._settling = settling
        self._read = read
        self._find_seat = find_seat
        self._recorder = Recorder(write, identifiers)
        self._hubs: dict[Path, WatchedHub] = {}
        self._desks: dict[Any, _Seated] = {}
        self._clients: dict[Hashable, tuple[WatchedHub, Desk]] = {}
        self._listeners: list[Callable[[], None]] = []
        self._looking: asyncio.Task[None] | None = None

    async def desk(self, caller: Caller) -> Desk:
        """What this caller sees. KumihimoError where its project is unknown or its servers are not well configured."""
        found = self._desks.get(_key(caller))
        if found is None or found[0] < time.monotonic():
            found = await self._seated(caller)
        await self._hub(found[1].folder).current()
        return found[2]

    def known(self, client: Hashable) -> Desk | None:
        """The desk of a client that sat there a moment ago, and need not be asked again who it is."""
        found = self._clients.get(client)
        return found[1] if found is not None and found[0].fresh else None

    def at_hand(self, caller: Caller) -> Desk | None:
        """The desk of a caller that sat there a moment ago."""
        now = time.monotonic()
        found = self._desks.get(_key(caller))
        if found is None or found[0] < now:
            return None
        watched = self._hubs.get(found[1].folder)
        return found[2] if watched is not None and watched.fresh else None

    def remember(self, client: Hashable, desk: Desk) -> None:
        """For as long as the files of its hub need not be looked at."""
        if len(self._clients) >= _MOST_SEATS:
            self._clients.clear()
        self._clients[client] = (self.hub_of(desk), desk)

    def hub_of(self, desk: Desk) -> WatchedHub:
        return next(watched for watched in self._hubs.values() if watched.hub is desk.hub)

    def counts(self) -> dict[str, Counts]:
        """How the servers of all hubs were used, by their names."""
        found: dict[str, Counts] = {}
        for watched in self._hubs.values():
            for server, counted in watched.hub.counts().items():
                found.setdefault(server, Counts()).add(counted)
        return found

    async def watch(self, on_changed: Callable[[], None]) -> None:
        """Tell whenever there may be other tools than before in any hub that was opened, until this is cancelled."""
        self._listeners.append(on_changed)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._listeners.remove(on_changed)

    async def _look_out(self) -> None:
        """A server that was taken out of its file ends also where nobody calls any more."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for watched in tuple(self._hubs.values()):
                await watched.current()

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    async def close(self) -> None:
        """End every server that was started, and keep what was noted."""
        hubs, self._hubs = list(self._hubs.values()), {}
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        self._desks.clear()
        self._clients.clear()
        await asyncio.gather(*(watched.hub.close() for watched in hubs))
        await self._recorder.close()

    async def _seated(self, caller: Caller) -> _Seated:
        seat = await self._find_seat(caller)
        hub = self._hub(seat.folder).hub
        desk = Desk(
            hub,
            worktree=seat.worktree,
            caller=seat.caller,
            permission=seat.permission,
            record=partial(self._recorder.note, seat),
            asking=NOBODY if seat.meta is None else Asking(meta=seat.meta),
            history=partial(self._history, seat.project_id),
        )
        if len(self._desks) >= _MOST_SEATS:
            self._desks.clear()
        found = self._desks[_key(caller)] = (time.monotonic() + SEAT_SECONDS, seat, desk)
        return found

    async def _history(self, project_id: str | None) -> dict[str, Counts]:
        """What is on record of a project since a day, whichever process made the calls."""
        await self._recorder.flush()
        found: dict[str, Counts] = {}
        for call in await self._read(datetime.now(UTC) - HISTORY):
            if call.project_id == project_id and call.server is not None:
                error = None if call.outcome == "ok" else call.outcome
                found.setdefault(call.server, Counts()).note(call.duration_ms, call.attempts, call.cached, error)
        return found

    def _hub(self, folder: Path) -> WatchedHub:
        found = self._hubs.get(folder)
        if found is None:
            found = self._hubs[folder] = WatchedHub(folder, self._settings, self._settling)
            found.hub.on_changed = self._tell
            if self._looking is None:
                self._looking = asyncio.create_task(self._look_out())
        return found


def _key(caller: Caller) -> Any:
    """What makes it the same caller; the session of a run, for one, is another value each time."""
    return caller.actor, caller.place, caller.execution_id, caller.only, caller.instance_id
