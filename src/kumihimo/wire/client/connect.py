"""Opening a session: reach the server, agree on a revision."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from kumihimo.wire.client.carrier import Carrier
from kumihimo.wire.client.dialogue import Dialogue, OnNotification, OnRequest
from kumihimo.wire.client.errors import ClientError, ConnectionFailed, ConnectionLost, Refused
from kumihimo.wire.client.handshake import Handshake, Introduction
from kumihimo.wire.client.http import HttpCarrier
from kumihimo.wire.client.session import SECONDS, Session
from kumihimo.wire.client.sse import SseCarrier
from kumihimo.wire.client.stdio import StdioCarrier
from kumihimo.wire.client.targets import Command, Target, Url
from kumihimo.wire.errors import RpcError

Era = Literal["auto", "stateless", "handshake"]
# What a server of the first revision answers to a POST where it expects a GET.
_OLD = (400, 404, 405)


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
    opening = _Opening(target, introduction, dialogue)
    carrier = await opening.agree(era)
    return Session(dialogue, carrier, opening.handshake, seconds)


class _Opening:
    """A session that is not there yet: by which carrier, in which revision?"""

    def __init__(self, target: Target, introduction: Introduction, dialogue: Dialogue) -> None:
        self.handshake = Handshake(introduction)
        self._target = target
        self._dialogue = dialogue

    async def agree(self, era: Era) -> Carrier:
        carrier = await self._open(self._target)
        try:
            # The first revision has a handshake, and so has whatever its carrier brings.
            if era != "handshake" and not isinstance(carrier, SseCarrier):
                try:
                    if await self.handshake.probe(self._dialogue, carrier):
                        return carrier
                except (ConnectionLost, ConnectionFailed):
                    # Some old servers end at the first thing that they do not know.
                    if era == "stateless" or isinstance(carrier, HttpCarrier):
                        raise
                    await carrier.close()
                    carrier = await self._open(self._target)
            if era == "stateless":
                raise ConnectionFailed("the server does not speak the stateless revision of the protocol")
            carrier = await self._shake(carrier)
        except BaseException:
            await carrier.close()
            await self._dialogue.end()
            raise
        return carrier

    async def _shake(self, carrier: Carrier) -> Carrier:
        try:
            await self.handshake.shake(self._dialogue, carrier)
        except (RpcError, Refused) as refusal:
            # It did not answer in time what only new servers know, and now refuses what only old ones do: it was slow.
            if self.handshake.silent and await self.handshake.probe(self._dialogue, carrier, patient=True):
                return carrier
            if not (isinstance(refusal, Refused) and isinstance(carrier, HttpCarrier) and refusal.status in _OLD):
                raise
            await carrier.close()
            carrier = await self._open_old(refusal)
            try:
                await self.handshake.shake(self._dialogue, carrier)
            except BaseException:
                # Who called this knows only the carrier before.
                await carrier.close()
                raise
        return carrier

    async def _open(self, target: Target) -> Carrier:
        if isinstance(target, Command):
            carrier = StdioCarrier(target, self._dialogue)
        elif target.carrier == "websocket" or target.url.startswith(("ws:", "wss:")):
            # Whoever has no such server does not wait for what it needs.
            from kumihimo.wire.client.websocket import WebSocketCarrier

            carrier = WebSocketCarrier(target, self._dialogue)
        elif target.carrier == "sse":
            carrier = SseCarrier(target, self._dialogue)
        else:
            return HttpCarrier(target, self._dialogue)
        await carrier.open()
        return carrier

    async def _open_old(self, refused: Refused) -> Carrier:
        """The first carrier, where the server has it. Where it has not, what it refused before is what there is to tell."""
        assert isinstance(self._target, Url), "only such a server refuses by a status"
        try:
            return await self._open(replace(self._target, carrier="sse"))
        except (ClientError, RpcError):
            raise refused from None
