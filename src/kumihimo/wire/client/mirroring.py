"""Headers that repeat arguments of a tool, where its schema asks for it (`x-mcp-header`)."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

from kumihimo.wire.mirrored import MirroredArgument, mirrored_arguments


class Mirroring:
    """What is known of the tools of a server: as much as it has listed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[MirroredArgument, ...]] = {}

    def learn(self, tools: Iterable[dict[str, Any]]) -> None:
        for tool in tools:
            name, schema = tool.get("name"), tool.get("inputSchema")
            if isinstance(name, str) and isinstance(schema, dict):
                self._known[name] = _mirrored(schema)  # pyright: ignore[reportUnknownArgumentType]

    def headers(self, tool: str, arguments: Raw) -> bytes:
        """Header lines for a call of the tool."""
        mirrored = self._known.get(tool)
        if not mirrored:
            return b""
        values = msgspec.json.decode(arguments)
        lines = [
            b"Mcp-Param-%b: %b\r\n" % (argument.header.encode(), header_value(_written(value)))
            for argument in mirrored
            if (value := _at(values, argument.path)) is not None
        ]
        return b"".join(lines)


def header_value(text: str) -> bytes:
    """A text as the value of a header: as it is where that can be sent, else in base64."""
    plain = text.isascii() and text.isprintable() and text == text.strip()
    if plain and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text.encode()
    return b"=?base64?%b?=" % base64.b64encode(text.encode("utf-8", "surrogatepass"))


def _mirrored(schema: dict[str, Any]) -> tuple[MirroredArgument, ...]:
    try:
        return mirrored_arguments(schema)
    except ValueError:
        # A schema that breaks the rules asks for nothing.
        return ()


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _at(values: Any, path: tuple[str, ...]) -> object:
    for name in path:
        if not isinstance(values, dict):
            return None
        values = values.get(name)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return values  # pyright: ignore[reportUnknownVariableType]
