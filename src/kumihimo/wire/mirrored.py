"""Arguments of a tool that a client mirrors into HTTP headers (`x-mcp-header` in the input schema)."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from kumihimo.wire.errors import HeaderMismatch

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PRINTABLE = re.compile(r"[\x20-\x7e\t]*")
_BASE64_OPEN = "=?base64?"
_BASE64_CLOSE = "?="


class MirroredArgument(Struct, frozen=True):
    """The header `Mcp-Param-<header>` repeats the argument at `path`."""

    header: str
    path: tuple[str, ...]
    kind: str


def mirrored_arguments(schema: Mapping[str, Any]) -> tuple[MirroredArgument, ...]:
    """The mirrored arguments of an input schema; ValueError where the schema breaks the protocol's rules for them."""
    found: list[MirroredArgument] = []
    _collect(schema, (), found)
    names = [argument.header.lower() for argument in found]
    if len(set(names)) != len(names):
        raise ValueError(f"x-mcp-header names repeat: {', '.join(sorted(names))}")
    return tuple(found)


def _collect(schema: Mapping[str, Any], path: tuple[str, ...], found: list[MirroredArgument]) -> None:
    properties: object = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name, value in cast("Mapping[str, object]", properties).items():
        if not isinstance(value, Mapping):
            continue
        property_schema = cast("Mapping[str, Any]", value)
        header: object = property_schema.get("x-mcp-header")
        if header is not None:
            kind: object = property_schema.get("type")
            if not isinstance(header, str) or _TOKEN.fullmatch(header) is None:
                raise ValueError(f"x-mcp-header of {name!r} is not a header name: {header!r}")
            if not isinstance(kind, str) or kind not in {"string", "integer", "boolean"}:
                raise ValueError(f"x-mcp-header needs a string, integer or boolean; {name!r} is {kind!r}")
            found.append(MirroredArgument(header.lower(), (*path, name), kind))
        _collect(property_schema, (*path, name), found)


def header_text(value: bytes) -> str:
    """A header's value as text, decoded where it is in the base64 form; HeaderMismatch where it is malformed."""
    text = value.decode("latin-1").strip(" \t")
    if _PRINTABLE.fullmatch(text) is None:
        raise HeaderMismatch("a header value has characters that are not printable ASCII")
    if not (text.startswith(_BASE64_OPEN) and text.endswith(_BASE64_CLOSE)):
        return text
    try:
        encoded = text[len(_BASE64_OPEN) : -len(_BASE64_CLOSE)]
        return base64.b64decode(encoded, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise HeaderMismatch("a header value is not valid base64 of UTF-8") from None


def check_mirrored(mirrored: tuple[MirroredArgument, ...], arguments: Raw, headers: Mapping[bytes, bytes]) -> None:
    """Raise HeaderMismatch unless every mirrored argument and its header say the same."""
    values: object = msgspec.json.decode(arguments) if arguments else {}
    for argument in mirrored:
        value = _at(values, argument.path)
        header = headers.get(b"mcp-param-" + argument.header.encode())
        label = f"Mcp-Param-{argument.header}"
        if value is None:
            if header is not None:
                raise HeaderMismatch(f"{label} is sent, but the argument is not")
            continue
        if header is None:
            raise HeaderMismatch(f"{label} is missing")
        if not _same(value, header_text(header)):
            raise HeaderMismatch(f"{label} does not match the argument")


def _at(values: object, path: tuple[str, ...]) -> object:
    for name in path:
        if not isinstance(values, dict):
            return None
        values = cast("dict[str, object]", values).get(name)
    return values


def _same(value: object, text: str) -> bool:
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    if isinstance(value, int | float):
        try:
            return float(text) == float(value)
        except (ValueError, OverflowError):
            return False
    return value == text
