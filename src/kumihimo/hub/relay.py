"""A call on the short way: sent at once, and answered in the moment that its server answers, with no task in between.

Most calls are like that: the session is there, the tool is known, its arguments fit. What is not, and whatever goes wrong, goes
the long way: from its beginning where nothing was sent, else from the failure of the first try.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Raw

from kumihimo.hub.attempt import Attempt
from kumihimo.hub.call import Call
from kumihimo.hub.errors import HubError
from kumihimo.hub.results import Answer
from kumihimo.hub.upstream import Upstream
from kumihimo.wire.client.errors import ClientError
from kumihimo.wire.client.relayed import Relayed
from kumihimo.wire.errors import RpcError

Done = Callable[["Answer | Exception"], None]
"""Hears the answer; a mistake of ours is an exception."""
Finish = Callable[[Any, HubError | None], Answer]
GoOn = Callable[[HubError], Awaitable[Answer]]


class Relay:
    """`finish` makes the answer of the data; `go_on` makes it after the first try has failed."""

    __slots__ = ("_attempt", "_call", "_done", "_finish", "_go_on", "_sent", "_task", "_upstream")

    def __init__(
        self, call: Call, upstream: Upstream, attempt: Attempt, finish: Finish, go_on: GoOn, done: Done
    ) -> None:
        self._call = call
        self._upstream = upstream
        self._attempt = attempt
        self._finish = finish
        self._go_on = go_on
        self._done = done
        self._sent: Relayed | None = None
        self._task: asyncio.Task[None] | None = None

    def send(self, arguments: Raw, seconds: float) -> bool:
        """False, with nothing sent, where it has to go the long way."""
        asking, attempt = self._call.asking, self._attempt
        attempt.begin()
        self._sent = attempt.live.session.relay_tool(
            attempt.tool.short_name,
            arguments,
            self._take,
            seconds=seconds,
            on_progress=asking.on_progress,
            meta=asking.meta,
            # Who answers by calling again can't answer a server that waits in the middle of its work.
            on_input=None if asking.comes_again else asking.on_input,
        )
        if self._sent is None:
            return False
        self._upstream.hold(attempt.live)
        self._call.attempts = 1
        return True

    def cancel(self) -> None:
        """Nobody waits for the answer any more, and nobody hears it."""
        if self._task is not None:
            self._task.cancel()
        elif self._sent is not None and not self._sent.over:
            self._sent.cancel()
            self._attempt.end()
            self._upstream.give_back(self._attempt.live)

    def _take(self, came: Raw | Exception) -> None:
        try:
            answer = self._answer(came)
        except Exception as fault:  # noqa: BLE001 - called where other answers are read: they must not suffer from it
            self._done(fault)
            return
        if answer is not None:
            self._done(answer)

    def _answer(self, came: Raw | Exception) -> Answer | None:
        """None where it goes on, on the long way."""
        attempt = self._attempt
        self._sent = None
        attempt.end()
        try:
            if isinstance(came, ClientError | RpcError):
                raise self._upstream.judge(attempt.live, came) from came
            if isinstance(came, Exception):
                raise came
            data = attempt.received(came)
        except HubError as error:
            self._task = asyncio.get_running_loop().create_task(self._go_on_from(error), name="relay goes on")
            return None
        finally:
            self._upstream.give_back(attempt.live)
        return self._finish(data, None)

    async def _go_on_from(self, error: HubError) -> None:
        try:
            answer = await self._go_on(error)
        except Exception as fault:  # noqa: BLE001 - the outermost frame of a task: whoever waits is told
            self._done(fault)
        else:
            self._done(answer)
