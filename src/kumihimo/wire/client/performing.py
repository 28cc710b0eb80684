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
        await carrier.send(call)
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
