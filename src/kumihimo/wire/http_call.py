"""A call over HTTP that takes its time: answered when it is done, cancelled when its client is gone."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, Protocol, cast

from kumihimo.wire.errors import HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CAPABILITY, UNSUPPORTED_VERSION
from kumihimo.wire.http_respond import Receive, Send, respond_json
from kumihimo.wire.jsonrpc import Failure
from kumihimo.wire.sse import Stream

# After so long, or twice as long, it is noticed that a client has gone.
_WATCH_SECONDS: Final = 0.02
_STATUS: Final = {
    METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}


def stateless_status(answered: bytes) -> int:
    """HTTP status of an answer of the stateless revisions: 200 where the request itself was in order."""
    return _STATUS.get(answered.code, 200) if isinstance(answered, Failure) else 200


class Watched(Protocol):
    """A call that may take long."""

    def start_watching(self) -> None: ...


class Watch:
    """Has an eye on the calls that take long. One timer for all: a timer for each would cost more than many a call."""

    def __init__(self) -> None:
        self._young: set[Watched] = set()
        self._older: set[Watched] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, call: Watched) -> None:
        self._young.add(call)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._look)

    def all(self) -> tuple[Watched, ...]:
        return (*self._young, *self._older)

    def leave(self, call: Watched) -> None:
        """It is over: nothing of it is kept."""
        self._young.discard(call)
        self._older.discard(call)

    def _look(self) -> None:
        """Those that were here the last time already are watched from now on."""
        older, self._older, self._young = self._older, self._young, set()
        self._timer = None
        for call in older:
            # One that gets a task of its own leaves, and comes again with it.
            call.start_watching()
        if self._older and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._look)


class Call:
    """One call under way, in the task of its HTTP request. Notices when the client is gone."""

    def __init__(
        self, stream: Stream, receive: Receive, watch: Watch, *, keep_alive_seconds: float, resume_seconds: float
    ) -> None:
        self._watch_over_all = watch
        self._stream = stream
        self._connection = stream.connection
        self._receive = receive
        self._keep_alive_seconds = keep_alive_seconds
        self._resume_seconds = resume_seconds
        self._loop = asyncio.get_running_loop()
        self._task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._watcher: asyncio.Task[None] | None = None
        self._timer: asyncio.Handle | None = None
        self._cancelled = False
        self._over = False
        # Made for who waits for its end, which hardly anybody does.
        self._ended: asyncio.Event | None = None

    def cancel(self) -> None:
        """The client does not want the answer any more, or the server goes away."""
        if not self._cancelled and not self._over:
            self._cancelled = True
            self._task.cancel()

    async def over(self) -> None:
        if not self._over:
            self._ended = self._ended or asyncio.Event()
            await self._ended.wait()

    async def answer(self, coroutine: Coroutine[Any, Any, bytes], send: Send) -> None:
        """Wait for the answer and give it: as JSON, or as the last event where the stream has been opened."""
        # A call that is done soon needs no watcher.
        self._watch_over_all.add(self)
        answered: bytes | None = None
        try:
            answered = await coroutine
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
        finally:
            if self._cancelled:
                self._task.uncancel()
            self._watch_over_all.leave(self)
            if self._timer is not None:
                self._timer.cancel()
            if self._watcher is not None:
                self._watcher.cancel()
            self._over = True
            if self._ended is not None:
                self._ended.set()
        await self._conclude(answered, send)

    async def _conclude(self, answered: bytes | None, send: Send) -> None:
        stream = self._stream
        if answered is None:
            # A cancelled request gets no answer; the connection ends as a stream without one.
            await stream.start()
        elif not stream.started:
            status = 200 if stream.resumable else stateless_status(answered)
            await respond_json(send, status, answered)
            return
        else:
            await stream.deliver(answered)
        await stream.finish()

    def start_watching(self) -> None:
        self._watcher = self._loop.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._keep_alive_seconds):
                    message = await self._receive()
            except TimeoutError:
                await self._stream.keep_alive()
                continue
            if message["type"] == "http.disconnect":
                break
        self._stream.detach(self._connection)
        if self._stream.resumable and self._stream.started:
            self._timer = self._loop.call_later(self._resume_seconds, self._look)
        else:
            self.cancel()

    def _look(self) -> None:
        """Whether somebody has come for the stream; whoever did may be gone the next time."""
        if self._stream.connection is None:
            self.cancel()
        else:
            self._timer = self._loop.call_later(self._resume_seconds, self._look)
