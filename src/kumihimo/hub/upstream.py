"""One server, with its one live session: opened when it is first needed, opened again when it is gone.

Calls to it share the session. A server that does not start, or dies before it has answered anything, is started again
after waits that grow, and not at all for a while after too many: whoever calls it then is told at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from kumihimo import __version__
from kumihimo.hub.configuration import ServerConfig
from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.faults import fault, unreachable
from kumihimo.hub.listening import hear_on
from kumihimo.hub.live import Live
from kumihimo.hub.reaching import target_of
from kumihimo.hub.timing import Timing
from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ClientError, ConnectionFailed, ConnectionLost
from kumihimo.wire.client.handshake import Introduction
from kumihimo.wire.client.session import Session
from kumihimo.wire.errors import MethodNotFound, RpcError
from kumihimo.wire.implementation import Implementation

# What a server may ask for that is told at the beginning of a session what its client can do. Of callers who can't be
# asked it is told so then.
_OFFERS: dict[str, Any] = {"elicitation": {}}
MOST_FAILURES = 5
LAST_WORDS_SECONDS = 2.0
COOLING_SECONDS = 30.0
LATE = "it is not ready yet, and may still be starting: ask again"


class State(StrEnum):
    IDLE = "idle"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    FAILED = "failed"
    CLOSED = "closed"


class Upstream:
    """`key` tells its instances apart where each worktree has one. `on_changed` hears the method of a notification."""

    def __init__(
        self,
        config: ServerConfig,
        folder: Path,
        environ: Mapping[str, str],
        timing: Timing,
        make_room: Callable[[Upstream], Awaitable[None]],
        on_idle: Callable[[], None],
        on_changed: Callable[[Upstream, Live | None, str], None],
    ) -> None:
        self.config = config
        self.key = (config.name, str(folder) if config.per_worktree else None)
        self.in_flight = 0
        self.last_used = timing.now()
        self.starts = 0
        self.problem: HubError | None = None
        # Until then the server wants to be left alone.
        self.quiet_until = 0.0
        # Until then whoever looks through all lists does not wait for it.
        self.late_until = 0.0
        # Whether it counts among the sessions that there may be at once.
        self.has_room = False
        self._folder = folder
        self._environ = environ
        self._timing = timing
        self._make_room = make_room
        self._on_idle = on_idle
        self._on_changed = on_changed
        # Whether a session is one connection, and ends with it.
        self._piped = config.transport in ("stdio", "websocket")
        self._live: Live | None = None
        self._opening: asyncio.Task[Live] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._farewells: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._not_before = 0.0
        self._closed = False

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def state(self) -> State:
        if self._closed:
            return State.CLOSED
        if self._live is not None:
            return State.CONNECTED
        if self._opening is not None:
            return State.CONNECTING
        return State.IDLE if self.problem is None else State.FAILED

    @property
    def version(self) -> str:
        return self._live.session.greeting.server.version if self._live else ""

    @property
    def idle(self) -> bool:
        """Whether its session could be closed without anybody noticing."""
        return self._live is not None and self.in_flight == 0

    @property
    def connected(self) -> bool:
        return self._live is not None

    @property
    def live(self) -> Live | None:
        """The session as it is, for a look at what it has told already."""
        return self._live

    @property
    def resting(self) -> bool:
        """Whether it has just failed, or was late: it is not waited for by whoever needs it only among others."""
        return self.late or (self._live is None and self._timing.now() < self._not_before)

    @property
    def late(self) -> bool:
        return self._timing.now() < self.late_until

    @property
    def trouble(self) -> str | None:
        """Why its tools are missing, where they are."""
        if self.problem is not None:
            return self.problem.message
        return f"{self.name}: {LATE}" if self.late else None

    def tells_changes(self, what: str) -> bool:
        """Whether the server says by itself that a list of it has changed, and is heard."""
        return self._live is not None and self._live.hears and what in self._live.announces

    @contextlib.asynccontextmanager
    async def session(self, seconds: float) -> AsyncGenerator[Live]:
        """The live session, held for one use. HubError where there is none within the time."""
        live = await self.take(seconds)
        try:
            yield live
        finally:
            self.give_back(live)

    def take_at_once(self) -> Live | None:
        """As `take`, where there is a session already."""
        live = self._live
        if live is not None:
            self.hold(live)
        return live

    def hold(self, live: Live) -> None:
        """Use the live session, until it is given back."""
        self.in_flight += 1
        self.last_used = self._timing.now()
        live.uses += 1

    async def take(self, seconds: float) -> Live:
        """As `session`, for who gives it back in the end. On the way of every call, where a `with` would cost more."""
        self.in_flight += 1
        self.last_used = self._timing.now()
        try:
            live = self._live or await self._wait_for_session(seconds)
        except BaseException:
            self._used()
            raise
        live.uses += 1
        return live

    def give_back(self, live: Live) -> None:
        live.release()
        self._used()

    def _used(self) -> None:
        self.in_flight -= 1
        self.last_used = self._timing.now()
        if not self.in_flight:
            self._on_idle()

    def answered(self) -> None:
        """It is well: what went wrong before is forgotten."""
        self._failures = 0
        self.problem = None

    def judge(self, live: Live, error: ClientError | RpcError) -> HubError:
        """What an error of a call means; where the session is gone with it, the next call opens another."""
        told = fault(error, self.name)
        if isinstance(error, RpcError):
            self.answered()
        elif isinstance(error, ConnectionFailed) or (self._piped and type(error) is ConnectionLost):
            self._lost(live, told)
        if told.retry_after_seconds is not None:
            self.quiet_until = max(self.quiet_until, self._timing.now() + told.retry_after_seconds)
        return told

    async def connect(self, seconds: float | None = None) -> None:
        """Open the session now, also where it was given up before."""
        self._failures, self._not_before = 0, 0.0
        async with self.session(self.config.timeout / 1000 if seconds is None else seconds):
            pass

    async def disconnect(self) -> None:
        """End the session. The next call opens another."""
        opening, self._opening = self._opening, None
        live, self._live = self._live, None
        self._leave_room()
        listening, self._listening = self._listening, None
        for task in (opening, listening):
            if task is not None:
                task.cancel()
        if live is not None:
            self._say_farewell(live, patient=False)
        waiting: list[asyncio.Task[Any]] = [task for task in (opening, listening, *self._farewells) if task is not None]
        if waiting:
            # Not gathered: whoever stops waiting here must not stop a server from being ended.
            await asyncio.wait(waiting)

    async def close(self) -> None:
        self._closed = True
        await self.disconnect()

    async def _wait_for_session(self, seconds: float) -> Live:
        if self._closed:
            raise self._removed()
        if self._opening is None:
            self._refuse_if_given_up()
            self._opening = asyncio.get_running_loop().create_task(self._open(), name=f"open {self.name}")
            # Whoever waits is told; where nobody does any more, `problem` has it.
            self._opening.add_done_callback(lambda task: None if task.cancelled() else task.exception())
        opening = self._opening
        done, _ = await asyncio.wait({opening}, timeout=seconds)
        if not done:
            raise HubError(Code.TIMEOUT, f"{self.name}: no session within {seconds:g} s", {"server": self.name})
        if opening.cancelled() and self._closed:
            raise self._removed()
        if opening.cancelled():
            raise HubError(Code.CONNECTION_FAILED, f"{self.name}: the server was disconnected", {"server": self.name})
        return opening.result()

    def _removed(self) -> HubError:
        return HubError(
            Code.CONNECTION_FAILED, f"{self.name}: the server was removed", {"server": self.name}, retryable=False
        )

    def _refuse_if_given_up(self) -> None:
        left = self._not_before - self._timing.now()
        if self._failures > MOST_FAILURES and left > 0 and self.problem is not None:
            denied = self.problem.code is Code.PERMISSION_DENIED
            raise HubError(
                self.problem.code if denied else Code.CONNECTION_FAILED,
                f"{self.problem.message}. It failed {self._failures} times in a row and is left alone for {left:.0f} s.",
                {"server": self.name, "failures": self._failures},
            )

    async def _open(self) -> Live:
        try:
            wait = self._not_before - self._timing.now()
            if wait > 0:
                await self._timing.sleep(wait)
            await self._make_room(self)
            live = Live(await self._reach())
        except BaseException as error:
            if self._opening is asyncio.current_task():
                # Whoever was called off has left it already, and it may be another's by now.
                self._leave_room()
            if isinstance(error, HubError):
                self._failed(error)
            raise
        finally:
            if self._opening is asyncio.current_task():
                self._opening = None
        self._live = live
        self.problem = None
        self.late_until = 0.0
        self._listening = asyncio.get_running_loop().create_task(self._listen(live), name=f"hear {self.name}")
        if not self.in_flight:
            # Nobody waits for it any more, and somebody may wait for its room.
            self._on_idle()
        return live

    def _leave_room(self) -> None:
        self.has_room = False
        self._on_idle()

    async def _reach(self) -> Session:
        self.starts += 1
        seconds = self.config.timeout / 1000
        introduction = Introduction(Implementation("kumihimo", __version__), _OFFERS, seconds)
        try:
            return await connect(
                await target_of(self.config, self._environ, self._folder),
                introduction,
                seconds=seconds,
                on_notification=lambda method, _: self._on_changed(self, self._live, method),
                on_request=_nobody_there,
            )
        except (ClientError, RpcError) as error:
            raise unreachable(error, self.name) from error

    def _failed(self, error: HubError) -> None:
        self.problem = error
        if error.code in (Code.CANNOT_EXECUTE, Code.PERMISSION_DENIED):
            # Nothing was started, or the server is well and waits for a login: there is nothing to be patient with.
            return
        self._failures += 1
        # The first time may be chance: from the second on it is waited, and after too many for long.
        if self._failures > MOST_FAILURES:
            wait = COOLING_SECONDS
        elif self._failures > 1:
            wait = self.config.retry_policy.delay_seconds(self._failures - 2)
        else:
            wait = 0.0
        self._not_before = self._timing.now() + wait

    def _lost(self, live: Live, error: HubError) -> None:
        if self._live is not live:
            return
        self._live = None
        self._leave_room()
        listening, self._listening = self._listening, None
        # The listener itself may be who has noticed.
        if listening is not None and listening is not asyncio.current_task():
            listening.cancel()
        self._failed(error)
        self._say_farewell(live, patient=True)

    def _say_farewell(self, live: Live, *, patient: bool) -> None:
        task = asyncio.get_running_loop().create_task(self._farewell(live, patient), name=f"close {self.name}")
        # Held until it is done, also where nobody waits for it: `close` does.
        self._farewells.add(task)
        task.add_done_callback(self._farewells.discard)

    async def _farewell(self, live: Live, patient: bool) -> None:
        """A server that is gone may have answered just before: what it has said is still on its way to who waits."""
        if patient:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS_SECONDS):
                    await live.unused()
        await live.session.close()

    async def _listen(self, live: Live) -> None:
        """Hear of changes; on stdio this is also how it is known that the server has ended."""
        handshake = live.session.revision.handshake
        # Some servers of the older revisions ask by this stream what a call needs to know.
        if not live.announces and not handshake:
            return
        if not self._piped:
            await hear_on(live, self._timing, lambda: self._missed(live))
            return

        def ready() -> None:
            live.hears = bool(live.announces)

        try:
            await live.session.listen(on_ready=ready)
        except RpcError:
            # It has no such stream: its lists are asked for again when they are old.
            return
        except ClientError as error:
            self._lost(live, fault(error, self.name))
            return
        finally:
            live.hears = False
        if handshake:
            self._lost(live, HubError(Code.CONNECTION_LOST, f"{self.name}: the server has ended"))

    def _missed(self, live: Live) -> None:
        """Nobody has heard the server for a while: whatever it would have told of its lists it may have."""
        for what in live.announces:
            self._on_changed(self, live, f"notifications/{what}/list_changed")


def require_no_memory(live: Live, name: str, away: str) -> None:
    """HubError where the server may remember what the caller's session has told it: that is on the host which began the
    session, and nowhere else. One that speaks the stateless revision remembers nothing."""
    if live.session.revision.handshake:
        raise HubError(
            Code.CANNOT_EXECUTE,
            f"{name}: this session was begun on the host {away}, and what the server remembers of it is there. "
            "Go on at that host, or begin another session here.",
            {"server": name, "host": away},
        )


async def _nobody_there(method: str, params: Any) -> Mapping[str, Any]:  # noqa: ARG001 - the signature of who is asked
    """What a server asks that nobody in particular has called, or whose caller can't be asked."""
    if method == "elicitation/create":
        return {"action": "cancel"}
    raise MethodNotFound(method)
