"""A call from its sending to its answer."""

from __future__ import annotations

import asyncio

from msgspec import Raw

from kumihimo.wire.client.call import Call
from kumihimo.wire.client.carrier import Carrier
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errors import TimedOut


async def perform(dialogue: Dialogue, carrier: Carrier, call: Call, seconds: float | None) -> Raw:
    """Send a call and wait for its answer; whoever stops waiting lets the server know."""
    timer = asyncio.get_running_loop().call_later(seconds, call.expire, seconds) if seconds else None
    try:
        await carrier.send(call)
        return await call.answer
    except (TimedOut, asyncio.CancelledError):
        carrier.abandon(call)
        raise
    finally:
        if timer is not None:
            timer.cancel()
        dialogue.close(call)
        # An error that came while it was being sent is told by what was raised instead.
        if not call.answer.done():
            call.answer.cancel()
        elif not call.answer.cancelled():
            call.answer.exception()
