"""What the headers of a stateless HTTP request must say about its body."""

from collections.abc import Mapping
from typing import Final

from msgspec import UNSET

from kumihimo.wire.errors import HeaderMismatch, MethodNotFound
from kumihimo.wire.jsonrpc import Message, Params
from kumihimo.wire.methods import STATELESS_METHODS
from kumihimo.wire.mirrored import MirroredArgument, check_mirrored, header_text, mirrored_arguments
from kumihimo.wire.peer import Peer
from kumihimo.wire.tool import Tool

Headers = Mapping[bytes, bytes]

_NAMED: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "task_id",
    "tasks/update": "task_id",
    "tasks/cancel": "task_id",
}
_NO_PARAMS: Final = Params()


def check_version(message: Message, headers: Headers) -> None:
    """Raise HeaderMismatch unless `MCP-Protocol-Version` says what `_meta` says."""
    header = headers.get(b"mcp-protocol-version")
    if header is None:
        raise HeaderMismatch("MCP-Protocol-Version is missing")
    meta = None if message.params is None else message.params.meta
    if meta is None or meta.protocol_version is UNSET:
        return  # what is missing there is an error of its own
    if header.strip() != meta.protocol_version.encode("utf-8", "replace"):
        raise HeaderMismatch("MCP-Protocol-Version does not match the version in _meta")


def check_routing(message: Message, headers: Headers) -> None:
    """Raise unless `Mcp-Method` and, where the method has one, `Mcp-Name` repeat the body; or the method is unknown."""
    method = str(message.method)
    header = headers.get(b"mcp-method")
    if header is None:
        raise HeaderMismatch("Mcp-Method is missing")
    if header.strip() != method.encode("utf-8", "replace"):
        raise HeaderMismatch("Mcp-Method does not match the method of the body")
    if method not in STATELESS_METHODS:
        raise MethodNotFound(method)
    field = _NAMED.get(method)
    if field is None:
        return
    named = getattr(message.params or _NO_PARAMS, field)
    if named is UNSET:
        return
    given = headers.get(b"mcp-name")
    if given is None:
        raise HeaderMismatch("Mcp-Name is missing")
    if given != named.encode("utf-8", "replace") and header_text(given) != named:
        raise HeaderMismatch("Mcp-Name does not match the body")


class MirrorCheck:
    """Checks the headers of mirrored arguments, remembering which arguments of a tool are mirrored."""

    def __init__(self) -> None:
        self._mirrored: dict[int, tuple[Tool, tuple[MirroredArgument, ...]]] = {}

    def check(self, peer: Peer, message: Message, headers: Headers) -> None:
        """Raise HeaderMismatch where a header `Mcp-Param-…` of a tool's argument is missing or says another value."""
        params = message.params
        if message.method != "tools/call" or params is None or params.name is UNSET:
            return
        tool = peer.catalog.tools.get(params.name)
        if tool is None:
            return
        known = self._mirrored.get(id(tool))
        if known is None or known[0] is not tool:
            if len(self._mirrored) > _MOST_REMEMBERED:
                self._mirrored.clear()
            known = self._mirrored[id(tool)] = (tool, mirrored_arguments(tool.input_schema))
        if known[1]:
            check_mirrored(known[1], params.arguments, headers)


_MOST_REMEMBERED: Final = 4096
