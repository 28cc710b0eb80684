"""A door: carries the calls of clients out on the board, and keeps nothing of its own.

A read or a short command on SQLite is done where it arrives, in the thread that serves. What may take long (a passkey, or
anything at all on PostgreSQL) is done by a few threads, each with a connection of its own, so that nobody waits for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from kumihimo.app import open_board
from kumihimo.domain.errors import KumihimoError, TokenRefused
from kumihimo.domain.session import Session
from kumihimo.domain.token import Token
from kumihimo.operations.operation import Call, Caller, Operation
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.settings import Language, Settings

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor
    from datetime import datetime

    from kumihimo.domain.hub_call import HubCall
    from kumihimo.hub.desk import Desk
    from kumihimo.hub.statistics import Counts
    from kumihimo.surfaces.hubs.hubs import Hubs
    from kumihimo.surfaces.hubs.seats import Seat
    from kumihimo.surfaces.mcp.alarm import Alarm

R = TypeVar("R")
_THREADS = 4


class Door:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.language: Language = settings.language
        self._own: Board | None = None
        self._local = threading.local()
        self._boards: list[Board] = []
        self._pool: ThreadPoolExecutor | None = None
        self._alarm: Alarm | None = None
        self._hubs: Hubs | None = None
        self.remote = settings.database.startswith(("postgres://", "postgresql://"))

    @property
    def board(self) -> Board:
        """The board of the thread that serves."""
        if self._own is None:
            self._own = open_board(self.settings)
        return self._own

    def owner(self, project: str | None = None) -> Caller:
        """The owner of this machine, who stands where the server was started, or in the named project."""
        if project is not None:
            return Caller("owner", Place(project))
        return Caller("owner", Place(self.settings.project, str(self.settings.folder)))

    @property
    def anywhere(self) -> Place:
        """Nowhere in particular: over HTTP the folder of the server says nothing about the client."""
        return Place(self.settings.project)

    def caller_of_run(self, board: Board, token: Token) -> Caller:
        """A run that was started with a token of its own, as the agent it is. TokenRefused once the run is over."""
        assert token.execution_id is not None, "a run's token names its run"
        run = board.executions.show(token.execution_id)
        if not run.live or run.project_id is None:
            raise TokenRefused
        now = board.clock()
        session = Session(run.session_id or run.id, run.agent_id, run.project_id, "live", run.queued_at, now)
        return Caller(run.agent_id, Place(run.project_id), session, run.id, (run.agent_id, run.project_id))

    def caller_of_token(self, board: Board, token: str | None) -> Caller:
        return Caller.of_session(board.sessions.use(token or ""))

    def call(self, board: Board, caller: Caller, language: Language | None = None) -> Call:
        """One use of an operation, which speaks the language of who asks where that is known."""
        board.store.actor = caller.actor
        settings = self.settings
        if language is not None and language != self.language:
            settings = msgspec.structs.replace(settings, language=language)
        return Call(settings, caller, None, board)

    def does_at_once(self, operation: Operation[Any, Any], arguments: Any = None) -> bool:
        """Whether an operation is short enough to be done where it arrives; of some only the arguments tell."""
        if operation.patience is not None or self.remote:
            return False
        slow = operation.slow
        if isinstance(slow, bool):
            return not slow
        return arguments is not None and not slow(self.settings, self.board, arguments)

    def perform_reading(self, work: Callable[[Board], R]) -> Any:
        """Some reading: now, or, where it may take long, as a coroutine that does it elsewhere."""
        return self.elsewhere(work) if self.remote else work(self.board)

    async def wait(self, work: Callable[[Board], R | None], seconds: float) -> R | None:
        """Ask again after every event until there is an answer; None after so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            ring = self.alarm.next()
            answer = await self.elsewhere(work) if self.remote else work(self.board)
            left = deadline - time.monotonic()
            if answer is not None or left <= 0:
                ring.cancel()
                return answer
            await self.alarm.wait(ring, left)

    @property
    def alarm(self) -> Alarm:
        """What wakes everybody who waits behind this door."""
        if self._alarm is None:
            from kumihimo.surfaces.mcp.alarm import Alarm

            self._alarm = Alarm(lambda: self.elsewhere(_bell))
        return self._alarm

    @property
    def hubs(self) -> Hubs:
        """The other MCP servers behind this door. To be used on the event loop that serves."""
        if self._hubs is None:
            from kumihimo.app import identifiers
            from kumihimo.surfaces.hubs.hubs import Hubs

            self._hubs = Hubs(self.settings, identifiers(), self._seat, self._keep_calls, self._calls_since)
        return self._hubs

    def hub_counts(self) -> dict[str, Counts]:
        """How servers behind this door were used so far."""
        return self._hubs.counts() if self._hubs is not None else {}

    async def close_hubs(self) -> None:
        """Before the event loop ends: no server that was started is left."""
        if self._hubs is not None:
            await self._hubs.close()

    async def know(self, caller_of: Callable[[Board, Any], R], client: Any) -> R:
        """Who a client is: asked where the board can be asked at once, or elsewhere."""
        return (
            await self.elsewhere(lambda board: caller_of(board, client))
            if self.remote
            else caller_of(self.board, client)
        )

    def desk_at_hand(self, caller_of: Callable[[Board, Any], Caller], client: Any) -> Desk | None:
        """What a client sees of the hub, where that is known without waiting for anybody. Of a run it is looked up each time
        whether it still lives."""
        if self._hubs is None:
            return None
        known = None if is_limited(client) else self._hubs.known(client)
        if known is not None or self.remote:
            return known
        try:
            return self._hubs.at_hand(caller_of(self.board, client))
        except KumihimoError:
            # Told on the long way, in the words of its dialect.
            return None

    async def away(self, place: str) -> str | None:
        """How the host is called that began a session; None where that is this one, or there is no session."""
        if not place or place == self.host:
            return None
        return await self.elsewhere(lambda board: board.hosts.called(place))

    @cached_property
    def host(self) -> str:
        """The home that this door belongs to, among all that share the board."""
        from kumihimo.services.host_name import host_id

        return host_id(self.settings.state_folder)

    async def _seat(self, caller: Caller) -> Seat:
        from kumihimo.surfaces.hubs.seats import seat_of

        return await self.know(lambda board, it: seat_of(self.settings, board, it), caller)

    async def _calls_since(self, moment: datetime) -> list[HubCall]:
        return await self.elsewhere(lambda board: board.hub_calls.since(moment))

    async def _keep_calls(self, calls: list[tuple[str, HubCall]]) -> None:
        await self.elsewhere(lambda board: board.hub_calls.keep(calls))

    @contextmanager
    def together(self) -> Generator[None, None, None]:
        """Reads that arrive in one piece see one snapshot, which is opened once for all of them."""
        if self._own is None or self.remote:
            yield
            return
        with self._own.store.lingering():
            yield

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        for board in (*self._boards, *([self._own] if self._own else [])):
            board.store.close()

    async def elsewhere(self, work: Callable[[Board], R]) -> R:
        """Some work in a thread that has a board of its own."""
        import asyncio

        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="kumi-door")
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: work(self._board_of_thread()))

    def _board_of_thread(self) -> Board:
        board = getattr(self._local, "board", None)
        if board is None:
            board = self._local.board = open_board(self.settings)
            self._boards.append(board)
        return board


def is_limited(client: Any) -> bool:
    """Whether a client came with a token for less than everything, whose time may be over."""
    return getattr(client, "token", None) is not None


def _bell(board: Board) -> Any:
    from kumihimo.store.bell import bell_of

    return bell_of(board.store)


class Resident:
    """One agent for the life of this process: its session, opened at the start and closed at the end."""

    def __init__(self, door: Door, agent: str) -> None:
        from kumihimo.domain.errors import ConfigError, ProjectUnclear
        from kumihimo.engine.processes.identity import current

        board = door.board
        found = board.agents.show(agent)
        places = [project for project in board.projects.list() if found.id in project.agent_ids]
        try:
            project = board.projects.at(door.owner().place)
        except ProjectUnclear:
            if len(places) != 1:
                raise
            project = places[0]
        if found.status != "active" or found.type != "ai":
            raise ConfigError("--agent-id", "agent_cannot_work", agent=found.name, kind=found.type, state=found.status)
        if found.id not in project.agent_ids:
            raise ConfigError("--agent-id", "agent_not_in_project", agent=found.name, project=project.name)
        if project.status == "archived":
            raise ConfigError("--agent-id", "project_archived", project=project.name)
        self._door = door
        self._session = board.sessions.open(found.id, project.id, current()).session

    def caller(self, board: Board) -> Caller:
        """The agent, while its session lives. TokenRefused once it is over."""
        self._session = board.sessions.use_id(self._session.id)
        return Caller.of_session(self._session)

    def close(self, summary: str) -> Session:
        return self._door.board.sessions.end(self._session.id, "closed", summary)
