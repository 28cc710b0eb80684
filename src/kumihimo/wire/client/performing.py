"""A call from its sending to its answer."""

from __future__ import annotations

import asyncio

from msgspec import Raw

from kumihimo.wire.client.allowance import Allowance
from kumihimo.wire.client.awaited import Awaited
from kumihimo.wire.client.carrier import Carrier
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errors import TimedOut


async def perform(dialogue: Dialogue, carrier: Carrier, call: Awaited, allowance: Allowance) -> Raw:
    """Send a call and wait for its answer; whoever stops waiting lets the server know."""
    call.allowance = allowance
    try:
        if allowance.used_up:
            # It was sent before, and what became of that is why it has to be sent again.
            raise TimedOut(allowance.seconds, delivered=True)
        allowance.begin(call.expire)
        if carrier.ready:
            # What most calls are: there is nothing to wait for, and nothing to be made for waiting.
            call.sent = True
            carrier.post(call.body)
        else:
            await _send(carrier, call)
        return await call.answer
    except (TimedOut, asyncio.CancelledError):
        carrier.abandon(call)
        raise
    finally:
        allowance.end()
        dialogue.close(call)
        # An error that came while it was being sent is told by what was raised instead.
        if not call.answer.done():
            call.answer.cancel()
        elif not call.answer.cancelled():
            call.answer.exception()


async def _send(carrier: Carrier, call: Awaited) -> None:
    """Wait for a way to the server no longer than for the answer: a server that reads nothing more may never make room."""
    sending, waiting = True, asyncio.timeout(None)

    def stop(_: object) -> None:
        # What has begun to be sent is not cut in two.
        if sending and not call.sent:
            waiting.reschedule(0)

    call.answer.add_done_callback(stop)
    try:
        async with waiting:
            await carrier.send(call)
    except TimeoutError:
        if not waiting.expired():
            raise
    finally:
        sending = False
        call.answer.remove_done_callback(stop)
