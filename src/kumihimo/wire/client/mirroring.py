"""Headers that repeat arguments of a tool, where its schema asks for it (`x-mcp-header`)."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import Raw

from kumihimo.wire.mirrored import MirroredArgument, mirrored_arguments

_log = logging.getLogger(__name__)
_KEY = "x-mcp-header"
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("default", "const", "enum", "examples", "required")


class Mirroring:
    """What is known of the tools of a server: as much as it has listed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[MirroredArgument, ...]] = {}

    def learn(self, tools: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those that can be called: a tool whose schema breaks the rules of these headers is left out."""
        good: list[dict[str, Any]] = []
        for tool in tools:
            name, schema = tool.get("name"), tool.get("inputSchema")
            if isinstance(name, str) and isinstance(schema, dict):
                try:
                    self._known[name] = _mirrored(cast("dict[str, Any]", schema))
                except (ValueError, RecursionError) as error:
                    _log.warning("the tool %r is left out of what its server offers: %s", name[:100], error)
                    continue
            good.append(tool)
        return good

    def headers(self, tool: str, arguments: Raw) -> bytes:
        """Header lines for a call of the tool."""
        mirrored = self._known.get(tool)
        if not mirrored:
            return b""
        values = msgspec.json.decode(arguments)
        lines: list[bytes] = []
        for argument in mirrored:
            text = _written(_at(values, argument.path))
            if text is not None:
                lines.append(b"Mcp-Param-%b: %b\r\n" % (argument.header.encode(), header_value(text)))
        return b"".join(lines)


def header_value(text: str) -> bytes:
    """A text as the value of a header: as it is where that can be sent, else in base64."""
    plain = text.isascii() and text.isprintable() and text == text.strip()
    if plain and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text.encode()
    return b"=?base64?%b?=" % base64.b64encode(text.encode("utf-8", "surrogatepass"))


def _mirrored(schema: dict[str, Any]) -> tuple[MirroredArgument, ...]:
    found = mirrored_arguments(schema)
    if _count(schema) != len(found):
        raise ValueError("x-mcp-header stands where no argument can be read from")
    return found


def _count(schema: object) -> int:
    """How often the header is asked for anywhere in a schema."""
    if isinstance(schema, list):
        return sum(_count(one) for one in cast("list[object]", schema))
    if not isinstance(schema, dict):
        return 0
    count = 0
    for key, value in cast("dict[str, object]", schema).items():
        if key == _KEY:
            count += 1
        elif key in _NAMED and isinstance(value, dict):
            # What stands here are names, and not words of the schema.
            count += sum(_count(one) for one in cast("dict[str, object]", value).values())
        elif key not in _DATA:
            count += _count(value)
    return count


def _written(value: object) -> str | None:
    """None for what no header can say."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else None


def _at(values: Any, path: tuple[str, ...]) -> object:
    for name in path:
        if not isinstance(values, dict):
            return None
        values = values.get(name)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return values  # pyright: ignore[reportUnknownVariableType]
