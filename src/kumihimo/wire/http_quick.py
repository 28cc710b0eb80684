"""The short way of a tool call over HTTP: no task is made for what can be read at once, or is done by somebody else.

It answers as the long way does, or leaves the request to it, from the start. That is so for every other message, for anything
unusual about a call, and for whatever would be refused; so a tool that reads may be asked twice.
"""

from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, Raw, Struct

from kumihimo.wire.dispatch import is_stateless
from kumihimo.wire.errors import RpcError
from kumihimo.wire.http_held import HeldCall
from kumihimo.wire.jsonrpc import Undecodable, decode, encode_answer, encode_id
from kumihimo.wire.methods import NO_ARGUMENTS, OPENING_BRACE
from kumihimo.wire.peer import Peer
from kumihimo.wire.revision import REVISIONS, STATELESS
from kumihimo.wire.tool import Tool, encode_json_result

if TYPE_CHECKING:
    from kumihimo.wire.http_post import Post
    from kumihimo.wire.serving.exchange import Exchange

MOST_CALLS: Final = 4096
"""Calls of one session that may be under way at once."""
_HANDSHAKE_HEADERS: Final = (None, *(name.encode() for name, revision in REVISIONS.items() if revision.handshake))
_STATELESS_HEADER: Final = STATELESS.name.encode()


class Admitted(Struct, frozen=True):
    """What the head of a request says of it. A client of the stateless revision is known by each of its messages: its `peer`
    is None, and its token empty."""

    headers: dict[bytes, bytes]
    caller: Any
    token: str
    peer: Peer | None
    takes_json_alone: bool


def admit(post: "Post", headers: dict[bytes, bytes], caller: Any) -> Admitted | None:
    """None where a request with this head has to go the long way."""
    if post.refusal_of(headers) is not None:
        return None
    version, silent = headers.get(b"mcp-protocol-version"), post.takes_json_alone(headers)
    if version == _STATELESS_HEADER:
        return Admitted(headers, caller, "", None, silent)
    token = headers.get(b"mcp-session-id", b"").decode("latin-1")
    peer = post.sessions.find(token, caller) if token and version in _HANDSHAKE_HEADERS else None
    return None if peer is None else Admitted(headers, caller, token, peer, silent)


def begin(post: "Post", admitted: Admitted, exchange: "Exchange") -> bool:
    """Whether a request is answered in this way, now or later."""
    body = exchange.whole
    if not body or len(body) > post.most_body_bytes:
        return False
    try:
        message = decode(body)
    except Undecodable:
        return False
    params, identity, peer = message.params, message.id, admitted.peer
    if message.method != "tools/call" or params is None or params.name is UNSET or not isinstance(identity, int | str):
        return False
    if peer is None:
        try:
            peer = post.stateless_peer(admitted.headers, admitted.caller, message)
        except RpcError:
            return False
    elif is_stateless(message):
        return False
    tool = peer.catalog.tools.get(params.name)
    arguments = params.arguments or NO_ARGUMENTS
    under_way = peer.memory.calls
    if tool is None or memoryview(arguments)[0] != OPENING_BRACE:
        return False
    if identity in under_way or len(under_way) >= MOST_CALLS:
        return False
    if tool.relay is not None:
        return HeldCall(post, exchange, admitted, peer, identity).begin(tool, params, arguments, body)
    answered = None if tool.read is None else _read(post, peer, tool, identity, arguments)
    if answered is not None:
        exchange.answer_json(answered)
    return answered is not None


def _read(post: "Post", peer: Peer, tool: Tool, identity: int | str, arguments: Raw) -> bytes | None:
    assert tool.read is not None, "asked only of those that have it"
    revision = peer.revision
    try:
        fields = encode_json_result(tool.read(peer.caller, arguments), structured=revision.structured)
    except Exception:  # noqa: BLE001 - whatever it is, the long way meets it too, and knows what to say
        return None
    return encode_answer(encode_id(identity), post.server.result(revision, fields))
