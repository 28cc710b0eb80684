"""What a server answers, as far as a client looks into it. Definitions stay the JSON objects that they are."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from kumihimo.wire.client.errors import BadAnswer
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.jsonrpc import SERVER_INFO, UNREADABLE

Table = dict[str, Any]
_NOBODY = Implementation(name="unknown")


class ToolAnswer(Struct, rename="camel", kw_only=True):
    """What a tool answered: a refusal of the tool itself is `is_error`, not an exception."""

    content: list[Table] = []
    structured_content: Any = None
    is_error: bool = False
    result_type: str = "complete"

    @property
    def text(self) -> str:
        """Its blocks of text, one after the other."""
        return "\n".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")


class Greeting(Struct, frozen=True, kw_only=True):
    """Who a server is, and what it can do."""

    server: Implementation
    capabilities: Table
    instructions: str | None = None
    versions: tuple[str, ...] = ()


class _Initialized(Struct, rename="camel"):
    protocol_version: str
    capabilities: Table = {}
    server_info: Implementation = _NOBODY
    instructions: str | None = None


class _DiscoveredMeta(Struct, rename={"server": SERVER_INFO}):
    server: Implementation = _NOBODY


class _Discovered(Struct, rename={"versions": "supportedVersions", "meta": "_meta"}):
    versions: tuple[str, ...]
    capabilities: Table = {}
    instructions: str | None = None
    meta: _DiscoveredMeta = msgspec.field(default_factory=_DiscoveredMeta)


_decode_tool = msgspec.json.Decoder(ToolAnswer).decode
_decode_table = msgspec.json.Decoder(Table).decode
_decode_initialized = msgspec.json.Decoder(_Initialized).decode
_decode_discovered = msgspec.json.Decoder(_Discovered).decode


def tool_answer(result: Raw) -> ToolAnswer:
    try:
        return _decode_tool(result)
    except UNREADABLE as error:
        raise BadAnswer(f"the answer of the tool has another shape: {error}") from None


def table(result: Raw) -> Table:
    try:
        return _decode_table(result)
    except UNREADABLE as error:
        raise BadAnswer(f"the answer is no object: {error}") from None


def initialized(result: Raw) -> tuple[str, Greeting]:
    """The version that was chosen, and the greeting."""
    try:
        found = _decode_initialized(result)
    except UNREADABLE as error:
        raise BadAnswer(f"the answer to initialize has another shape: {error}") from None
    greeting = Greeting(server=found.server_info, capabilities=found.capabilities, instructions=found.instructions)
    return found.protocol_version, greeting


def discovered(result: Raw) -> Greeting | None:
    """The greeting of a stateless server; None where the answer is not one."""
    try:
        found = _decode_discovered(result)
    except UNREADABLE:
        return None
    return Greeting(
        server=found.meta.server,
        capabilities=found.capabilities,
        instructions=found.instructions,
        versions=found.versions,
    )
