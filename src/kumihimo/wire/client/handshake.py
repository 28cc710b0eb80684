"""How a session was agreed upon, and what each request has to say because of it.

The stateless revision is tried first, by `server/discover`. A server that does not know it answers some error, or nothing,
or ends: then it is spoken to as the older revisions are, with `initialize`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from kumihimo.wire.client.allowance import Allowance
from kumihimo.wire.client.answers import Greeting, discovered, initialized
from kumihimo.wire.client.awaited import Awaited
from kumihimo.wire.client.carrier import Carrier
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errors import BadAnswer, Refused, TimedOut
from kumihimo.wire.client.mirroring import header_value
from kumihimo.wire.client.performing import perform
from kumihimo.wire.errors import UNSUPPORTED_VERSION, RpcError
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.jsonrpc import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, encode, encode_notification
from kumihimo.wire.revision import LATEST_HANDSHAKE, REVISIONS, STATELESS, Revision

_UNKNOWN = Greeting(server=Implementation(name="unknown"), capabilities={})


class Introduction(Struct, frozen=True):
    """Who we are, what we can do for a server, and how long it may take to greet us."""

    client: Implementation
    capabilities: dict[str, Any] = {}
    seconds: float = 30.0
    # An old server may not answer what it does not know.
    probe_seconds: float = 5.0


class Handshake:
    """`number` counts the handshakes of a session: who saw another one knows that the session was renewed."""

    def __init__(self, introduction: Introduction) -> None:
        self._introduction = introduction
        self.revision: Revision = STATELESS
        self.greeting: Greeting = _UNKNOWN
        self.number = 0
        self.silent = False
        # Without the braces: more may follow.
        self._meta = encode({PROTOCOL_VERSION: STATELESS.name, CLIENT_INFO: introduction.client})[1:-1]
        self._offers = encode({CLIENT_CAPABILITIES: introduction.capabilities})[1:-1]

    def body(
        self,
        number: int,
        method: str,
        fields: bytes,
        *,
        progress: bool = False,
        meta: bytes = b"",
        offers: Mapping[str, Any] | None = None,
    ) -> bytes:
        """A request as the revision has it. `meta` is what the caller tells beside the parameters, without the braces;
        `offers` what can be done for the server because of it, where that is said anew each time."""
        told = [meta] if meta else []
        if progress:
            told.append(b'"progressToken":%d' % number)
        if not self.revision.handshake:
            offered = self._offers if offers is None else encode({CLIENT_CAPABILITIES: offers})[1:-1]
            told[:0] = (self._meta, offered)
        params = [fields] if fields else []
        if told:
            params.append(b'"_meta":{%b}' % b",".join(told))
        return b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":{%b}}' % (number, method.encode(), b",".join(params))

    def headers(self, method: str, named: str | None) -> bytes:
        """What headers repeat of a stateless request."""
        lines = b"Mcp-Method: %b\r\n" % method.encode()
        return lines if named is None else lines + b"Mcp-Name: %b\r\n" % header_value(named)

    async def probe(self, dialogue: Dialogue, carrier: Carrier, *, patient: bool = False) -> bool:
        """Whether the server speaks the stateless revision. Then everything is agreed upon. `silent` tells afterwards that it
        did not answer in time; who is `patient` gives it as long as a handshake has."""
        self.revision = STATELESS
        dialogue.batches = STATELESS.batches
        carrier.agree(STATELESS)
        seconds = self._introduction.seconds if patient else self._introduction.probe_seconds
        self.silent = False
        try:
            try:
                greeting = await self._discover(dialogue, carrier, seconds)
            except RpcError as error:
                if not _would_speak(error):
                    return False
                greeting = await self._discover(dialogue, carrier, seconds)
        except TimedOut:
            self.silent = True
            return False
        except (RpcError, BadAnswer):
            return False
        except Refused as refused:
            # Whom it does not let in at all it does not let in with a handshake either.
            if refused.status in (401, 403) or refused.status >= 500:
                raise
            return False
        if greeting is None or STATELESS.name not in greeting.versions:
            return False
        self.greeting = greeting
        self.number += 1
        return True

    async def _discover(self, dialogue: Dialogue, carrier: Carrier, seconds: float) -> Greeting | None:
        call = dialogue.open("server/discover")
        call.body = self.body(call.id, call.method, b"")
        if carrier.mirrors:
            call.headers = self.headers(call.method, None)
        return discovered(await perform(dialogue, carrier, call, Allowance(seconds)))

    async def shake(self, dialogue: Dialogue, carrier: Carrier) -> None:
        """`initialize`, with the newest revision that has it; the server chooses."""
        self.revision = LATEST_HANDSHAKE
        carrier.agree(None)
        call = self._initialize(dialogue)
        version, greeting = initialized(await perform(dialogue, carrier, call, Allowance(self._introduction.seconds)))
        revision = REVISIONS.get(version)
        if revision is None or not revision.handshake:
            raise BadAnswer(f"the server speaks {version[:40]!r}, which is not known here")
        self.revision, self.greeting = revision, greeting
        dialogue.batches = revision.batches
        carrier.agree(revision)
        # Some servers refuse what arrives before it: where messages go side by side, it is waited for.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._introduction.probe_seconds):
                await carrier.tell(encode_notification("notifications/initialized"))
        self.number += 1

    def _initialize(self, dialogue: Dialogue) -> Awaited:
        call = dialogue.open("initialize")
        fields = {
            "protocolVersion": LATEST_HANDSHAKE.name,
            "capabilities": self._introduction.capabilities,
            "clientInfo": self._introduction.client,
        }
        call.body = self.body(call.id, call.method, encode(fields)[1:-1])
        return call


def _would_speak(error: RpcError) -> bool:
    """Whether a server that refuses the version says that it has it all the same: it is asked once more."""
    data: object = error.data
    supported = cast("dict[str, object]", data).get("supported") if isinstance(data, dict) else None
    return error.code == UNSUPPORTED_VERSION and isinstance(supported, list) and STATELESS.name in supported
