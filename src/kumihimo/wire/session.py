"""Sessions of the revisions with a handshake, over HTTP: a signed token that says all there is to know.

Any process with the same key accepts a session, whichever process began it. What a process remembers of one (`Memory`)
helps, and may be lost: the level of logging, subscriptions, and which calls a cancellation can still reach.
"""

import secrets
from collections import OrderedDict
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from kumihimo.wire.jsonrpc import encode
from kumihimo.wire.peer import Memory, Peer
from kumihimo.wire.revision import REVISIONS, Revision
from kumihimo.wire.server import Server
from kumihimo.wire.signature import sign, verify

MOST_DECLARED_BYTES: Final = 1024
"""A client that declares more capabilities than fit is remembered by their names."""
MOST_REMEMBERED: Final = 10_000


class _Claims(Struct, frozen=True, array_like=True):
    revision: str
    issued: int
    nonce: str
    subject: str
    client: Raw
    capabilities: Raw
    place: str = ""


class _Known(Struct):
    claims: _Claims
    revision: Revision
    memory: Memory


_decode_claims = msgspec.json.Decoder(_Claims).decode


class Sessions:
    """Begins, finds and ends sessions. Keeps the most recently used in memory, and those that were ended."""

    def __init__(self, server: Server, seconds: int) -> None:
        self._server = server
        self._seconds = seconds
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._ended: OrderedDict[str, float] = OrderedDict()

    def begin(self, peer: Peer) -> str:
        """A token for the client that `initialize` has introduced."""
        client = peer.client
        claims = _Claims(
            revision=peer.revision.name,
            issued=int(self._server.clock()),
            nonce=secrets.token_urlsafe(12),
            subject=self._server.subject(peer.caller),
            client=Raw(encode({"name": client.name[:100], "version": client.version[:100]})),
            capabilities=Raw(_brief(peer)),
            place=self._server.place,
        )
        token = sign(self._server.key, "session", encode(claims))
        self._remember(token, _Known(claims, peer.revision, peer.memory))
        return token

    def find(self, token: str, caller: Any) -> Peer | None:
        """The client of a session; None where the token is not ours, has ended or expired, or is another caller's."""
        known = self._known.get(token)
        if known is not None:
            self._known.move_to_end(token)
        else:
            known = self._open(token)
            if known is None:
                return None
            self._remember(token, known)
        claims = known.claims
        if claims.issued + self._seconds < self._server.clock():
            return None
        if claims.subject != self._server.subject(caller):
            return None
        return Peer(
            caller,
            known.revision,
            self._server.catalog_for(caller, known.revision),
            known.memory,
            client_json=claims.client,
            capabilities_json=claims.capabilities,
            place=claims.place,
        )

    def goes_on(self, token: str, peer: Peer | None) -> bool:
        """Whether a session that was found is one still. Who has none has none that could end."""
        if peer is None:
            return True
        known = self._known.get(token)
        if known is None or known.memory is not peer.memory:
            return False
        self._known.move_to_end(token)
        return known.claims.issued + self._seconds >= self._server.clock()

    def end(self, token: str) -> None:
        """Cancel what the session has under way here, and accept it no more."""
        known = self._known.pop(token, None)
        if known is not None:
            known.memory.cancel_all()
        self._ended[token] = self._server.clock()
        while len(self._ended) > MOST_REMEMBERED:
            self._ended.popitem(last=False)

    def _open(self, token: str) -> _Known | None:
        payload = None if token in self._ended else verify(self._server.key, "session", token)
        if payload is None:
            return None
        claims = _decode_claims(payload)
        revision = REVISIONS.get(claims.revision)
        return None if revision is None else _Known(claims, revision, Memory())

    def _remember(self, token: str, known: _Known) -> None:
        self._known[token] = known
        if len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)


def _brief(peer: Peer) -> bytes:
    declared = encode(peer.capabilities)
    if len(declared) <= MOST_DECLARED_BYTES:
        return declared
    return encode({name: {} for name in ("elicitation", "sampling", "roots") if peer.has(name)})
