"""A session that the server has forgotten is begun again: once, for all whose calls have found it gone."""

from __future__ import annotations

import asyncio

from kumihimo.wire.client.allowance import Allowance
from kumihimo.wire.client.carrier import Carrier
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errors import ClientError, ConnectionFailed, Refused, TimedOut
from kumihimo.wire.client.handshake import Handshake
from kumihimo.wire.errors import RpcError

# Why somebody is not let in is told as it is: another connection would not help.
_NOT_LET_IN = (401, 403, 429)


class Renewal:
    """Nothing that it raises says that a call may have arrived: while it is under way none is sent."""

    def __init__(self, dialogue: Dialogue, carrier: Carrier, handshake: Handshake) -> None:
        # From when the old session was let go until there is another. Whatever was sent meanwhile would belong to none.
        self.due = False
        self._dialogue = dialogue
        self._carrier = carrier
        self._handshake = handshake
        self._work: asyncio.Task[Exception | None] | None = None
        self._closed = False

    async def wait(self, seen: int, allowance: Allowance) -> None:
        """Return once there is another session than the one that began with the handshake `seen`."""
        if self._handshake.number != seen and not self.due:
            return
        work = self._begun()
        # Of a call whose time has just run out it would be said that it had been sent.
        if not await _done_within(allowance, work) or allowance.used_up:
            raise TimedOut(allowance.seconds, delivered=False)
        problem = ConnectionFailed("the session was closed") if work.cancelled() else work.result()
        if problem is not None:
            raise _told(problem)

    async def close(self) -> None:
        self._closed = True
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait((self._work,))

    def _begun(self) -> asyncio.Task[Exception | None]:
        """Of many who need it one begins it, and it goes on when that one waits no more: others may."""
        if self._closed:
            raise ConnectionFailed("the session was closed")
        self.due = True
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(self._perform(), name="begin the session again")
        return self._work

    async def _perform(self) -> Exception | None:
        try:
            await self._carrier.renew()
            await self._handshake.shake(self._dialogue, self._carrier)
        except (ClientError, RpcError) as problem:
            return problem
        self.due = False
        return None


async def _done_within(allowance: Allowance, work: asyncio.Task[Exception | None]) -> bool:
    late = asyncio.Event()
    waiting = asyncio.ensure_future(late.wait())
    allowance.begin(lambda _: late.set())
    try:
        await asyncio.wait((work, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        allowance.end()
        waiting.cancel()
    return work.done()


def _told(problem: Exception) -> ClientError:
    if isinstance(problem, Refused) and problem.status in _NOT_LET_IN:
        return problem
    return ConnectionFailed(f"the server has forgotten the session, and another can't be begun: {problem}")
