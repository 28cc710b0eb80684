"""Opening a session: reach the server, agree on a revision."""

from __future__ import annotations

from typing import Literal

from kumihimo.wire.client.dialogue import Dialogue, OnNotification, OnRequest
from kumihimo.wire.client.errors import ConnectionFailed, ConnectionLost
from kumihimo.wire.client.handshake import Handshake, Introduction
from kumihimo.wire.client.http import HttpCarrier
from kumihimo.wire.client.session import SECONDS, Session
from kumihimo.wire.client.stdio import StdioCarrier
from kumihimo.wire.client.targets import Target, Url

Era = Literal["auto", "stateless", "handshake"]


async def connect(
    target: Target,
    introduction: Introduction,
    *,
    era: Era = "auto",
    seconds: float | None = SECONDS,
    on_notification: OnNotification | None = None,
    on_request: OnRequest | None = None,
) -> Session:
    """A session with the server. ClientError or RpcError where there can't be one; nothing is left behind then.

    `seconds` is how long a call may take unless it says otherwise; 0 or None is for ever. `on_request` is asked what the
    server wants to know (roots, sampling, elicitation) where the introduction has offered that.
    """
    dialogue = Dialogue(on_notification, on_request)
    handshake = Handshake(introduction)
    carrier = await _open(target, dialogue)
    try:
        if era != "handshake":
            try:
                if await handshake.probe(dialogue, carrier):
                    return Session(dialogue, carrier, handshake, seconds)
            except (ConnectionLost, ConnectionFailed):
                # Some old servers end at the first thing that they do not know.
                if era == "stateless" or isinstance(target, Url):
                    raise
                await carrier.close()
                carrier = await _open(target, dialogue)
        if era == "stateless":
            raise ConnectionFailed("the server does not speak the stateless revision of the protocol")
        await handshake.shake(dialogue, carrier)
    except BaseException:
        await carrier.close()
        raise
    return Session(dialogue, carrier, handshake, seconds)


async def _open(target: Target, dialogue: Dialogue) -> HttpCarrier | StdioCarrier:
    if isinstance(target, Url):
        return HttpCarrier(target, dialogue)
    carrier = StdioCarrier(target, dialogue)
    await carrier.open()
    return carrier
