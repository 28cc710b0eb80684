"""The short way for what most calls are: a tool that only reads, called on a line of its own.

It answers with the bytes of the long way, or with None: then the long way is taken, from the start. That is so for every
other message, for anything unusual about a call, and for anything that goes wrong in one. So a tool may be asked twice,
which is why only tools that read have a short way.
"""

from collections.abc import Callable, Container
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from kumihimo.wire.jsonrpc import encode
from kumihimo.wire.peer import Peer

ReadTool = Callable[[Any, Raw], bytes]

_OPENED: Final = b'{"jsonrpc":"2.0","id":'
_TEXT: Final = b',"result":{"content":[{"type":"text","text":'
_STRUCTURED: Final = b'}],"structuredContent":'
_CLOSED: Final = b',"isError":false}}\n'
_TEXT_CLOSED: Final = b'}],"isError":false}}\n'


# What these shapes do not know, they refuse: such a message takes the long way, which knows everything.
class _Meta(Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    progress_token: int | str | UnsetType = UNSET


class _Params(Struct, forbid_unknown_fields=True, gc=False, rename={"meta": "_meta"}):
    name: str
    arguments: Raw = Raw(b"{}")
    meta: _Meta | None = None


class _Call(Struct, forbid_unknown_fields=True, gc=False):
    jsonrpc: Literal["2.0"]
    id: int | str
    method: Literal["tools/call"]
    params: _Params


_decode: Final = msgspec.json.Decoder(_Call).decode


class QuickCalls:
    """The reading tools of one client with a handshake. `under_way` are the ids that no new call may have."""

    __slots__ = ("_caller", "_structured", "_tools", "_under_way")

    def __init__(self, peer: Peer, under_way: Container[int | str]) -> None:
        self._caller = peer.caller
        self._structured = peer.revision.structured
        self._tools: dict[str, ReadTool] = {
            name: tool.read for name, tool in peer.catalog.tools.items() if tool.read is not None
        }
        self._under_way = under_way

    def answer(self, line: bytes) -> bytes | None:
        """The answer to a line, with its newline; None for the long way."""
        try:
            call = _decode(line)
            request_id, params = call.id, call.params
            if request_id in self._under_way:
                return None
            payload = self._tools[params.name](self._caller, params.arguments)
            text = encode(payload.decode())
        except Exception:  # noqa: BLE001 - whatever it is, the long way meets it too, and knows what to say
            return None
        if self._structured:
            return b"".join((_OPENED, encode(request_id), _TEXT, text, _STRUCTURED, payload, _CLOSED))
        return b"".join((_OPENED, encode(request_id), _TEXT, text, _TEXT_CLOSED))
