"""Errands on their way: sent, sent again where that does no harm, and with what a server wants to know in between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from kumihimo.wire.client.allowance import Allowance
from kumihimo.wire.client.call import OnProgress, OnRequest
from kumihimo.wire.client.carrier import Carrier
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errand import Errand
from kumihimo.wire.client.errors import BadAnswer, ClientError, ConnectionLost, Refused, SessionGone
from kumihimo.wire.client.handshake import Handshake
from kumihimo.wire.client.input_required import METHODS, MOST_ROUNDS, input_required, is_input_required
from kumihimo.wire.client.listing import Kind, Listing, listing
from kumihimo.wire.client.mirroring import Mirroring
from kumihimo.wire.client.performing import perform
from kumihimo.wire.client.relayed import Relayed, Take
from kumihimo.wire.client.renewal import Renewal
from kumihimo.wire.deadlines import Deadlines
from kumihimo.wire.errors import HEADER_MISMATCH, RpcError
from kumihimo.wire.jsonrpc import encode

# A server that only wants to be asked again is asked after this long, and twice as long each time.
_ROUND_SECONDS = 0.02
_MOST_ROUND_SECONDS = 1.0


_PING = Errand("ping", repeatable=True)
_PLAIN = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%b,"arguments":%b}}'


class Messenger:
    def __init__(self, dialogue: Dialogue, carrier: Carrier, handshake: Handshake) -> None:
        self._dialogue = dialogue
        self._carrier = carrier
        self._handshake = handshake
        self._mirroring = Mirroring()
        self._renewal = Renewal(dialogue, carrier, handshake)
        self._deadlines = Deadlines()

    async def listing(self, kind: Kind, seconds: float | None) -> Listing:
        """`seconds` is for each page."""

        def ask(method: str, fields: bytes) -> Awaitable[Raw]:
            return self.run(Errand(method, fields, repeatable=True), seconds)

        found = await listing(kind, ask)
        if kind == "tools" and self._mirrors:
            return replace(found, entries=self._mirroring.learn(found.entries))
        return found

    async def close(self) -> None:
        self._deadlines.close()
        await self._renewal.close()

    def call_plainly(self, name: str, arguments: Raw, seconds: float | None) -> Awaitable[Raw] | None:
        """The short way for what most calls are: a tool by a pipe, of a revision that has no questions in its answers. None
        where it has to go the long way, which does the same."""
        if not (self._carrier.piped and self._handshake.revision.handshake):
            return None
        call = self._dialogue.open("tools/call")
        call.body = _PLAIN % (call.id, encode(name), arguments)
        return perform(self._dialogue, self._carrier, call, Allowance(seconds, self._deadlines))

    def relay(
        self,
        name: str,
        arguments: Raw,
        seconds: float | None,
        take: Take,
        on_progress: OnProgress | None,
        meta: Mapping[str, Any] | None,
        on_input: OnRequest | None,
    ) -> Relayed | None:
        """Send a call of a tool now, and let its answer be taken when it comes. None, with nothing sent, where it has to wait
        or may be answered with a question."""
        carrier, dialogue = self._carrier, self._dialogue
        if not (carrier.ready and self._handshake.revision.handshake):
            return None
        call = Relayed(dialogue, carrier, Allowance(seconds, self._deadlines), take, on_progress, on_input)
        if on_progress is None and not meta:
            call.send(_PLAIN % (call.id, encode(name), arguments))
        else:
            fields = b'"name":%b,"arguments":%b' % (encode(name), arguments)
            beside = encode(dict(meta))[1:-1] if meta else b""
            progress = on_progress is not None
            call.send(self._handshake.body(call.id, "tools/call", fields, progress=progress, meta=beside))
        return call

    async def run(self, errand: Errand, seconds: float | None) -> Raw:
        """The answer, as it came. Where the server wants to know something first, and there is somebody to ask, they are;
        the time that this takes does not count."""
        allowance = Allowance(seconds, self._deadlines)
        result = await self._send(errand, allowance)
        if errand.method not in METHODS or self._handshake.revision.handshake or not is_input_required(result):
            return result
        ask = errand.on_input or self._dialogue.questions.on_request
        wait = _ROUND_SECONDS
        for _ in range(MOST_ROUNDS):
            wanted = input_required(result)
            if wanted is None or (wanted.input_requests and ask is None):
                return result
            if not wanted.input_requests:
                await asyncio.sleep(wait)
                wait = min(wait * 2, _MOST_ROUND_SECONDS)
            fields = b",".join(part for part in (errand.fields, await wanted.answered(ask)) if part)
            result = await self._send(replace(errand, fields=fields), allowance)
        if input_required(result) is not None:
            raise BadAnswer(f"the server asked for input more than {MOST_ROUNDS} times")
        return result

    @property
    def _mirrors(self) -> bool:
        return self._carrier.mirrors and not self._handshake.revision.handshake

    async def _send(self, errand: Errand, allowance: Allowance) -> Raw:
        """Sent a second time only where the server has certainly not acted on it, or where that does no harm."""
        if self._renewal.due:
            await self._renewal.wait(self._handshake.number, allowance)
        seen = self._handshake.number
        try:
            return await self._once(errand, allowance)
        except SessionGone as gone:
            if gone.instead is None:
                await self._renewal.wait(seen, allowance)
            else:
                await self._doubt(gone.instead, errand, seen, allowance)
        except BadAnswer:
            raise
        except ConnectionLost:
            if not errand.repeatable:
                raise
        except RpcError as error:
            if error.code != HEADER_MISMATCH or not errand.arguments or not self._mirrors:
                raise
            # The server has looked at nothing but the headers: it is asked which it wants.
            await self.listing("tools", allowance.seconds)
        try:
            return await self._once(errand, allowance)
        except SessionGone as gone:
            # It was asked in a session that has only just begun.
            raise gone.instead or gone from None

    async def _doubt(self, refusal: Exception, errand: Errand, seen: int, allowance: Allowance) -> None:
        """A refusal that may mean the session, and may as well come from a tool that has done half of its work: the server is
        asked whether it knows the session. Raises what is told; returns where the call may be sent again."""
        if self._is_current(seen) and await self._is_known(allowance) and self._is_current(seen):
            raise refusal
        try:
            await self._renewal.wait(seen, allowance)
        except ClientError:
            raise refusal from None
        if not errand.repeatable:
            raise _with_advice(refusal)

    def _is_current(self, seen: int) -> bool:
        return self._handshake.number == seen and not self._renewal.due

    async def _is_known(self, allowance: Allowance) -> bool:
        """Whether the server knows the session. Also where nobody can say: then nothing is begun anew."""
        try:
            await self._once(_PING, allowance)
        except SessionGone:
            return False
        except (ClientError, RpcError):
            return True
        return True

    def _once(self, errand: Errand, allowance: Allowance) -> Awaitable[Raw]:
        call = self._dialogue.open(errand.method, errand.on_progress, errand.on_input)
        call.on_ready = errand.on_ready
        call.body = self._handshake.body(
            call.id, errand.method, errand.fields, progress=errand.on_progress is not None, meta=errand.meta,
            offers=errand.offers,
        )  # fmt: skip
        if self._mirrors:
            call.headers = self._handshake.headers(errand.method, errand.named)
            if errand.arguments:
                call.headers += self._mirroring.headers(errand.named or "", errand.arguments)
        return perform(self._dialogue, self._carrier, call, allowance)


def _with_advice(refusal: Exception) -> Exception:
    advice = "the server had forgotten the session; another was begun, and the call was not sent again: repeat it"
    if isinstance(refusal, RpcError):
        return RpcError(refusal.code, f"{refusal.message} ({advice})", refusal.data)
    return Refused(refusal.status, f"{refusal.said} ({advice})") if isinstance(refusal, Refused) else refusal
