"""The schemas of tools, kept as JSON beside the toolsets: to make them from types takes longer than a list may.

`make snapshots` writes the files and `make check` compares them. What is in no file is made when it is asked for.

A file has three lines for each tool: its name, what it takes, what it answers, each of them JSON. Lines are found without
parsing anything, which is most of what the first list of a process would otherwise take.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from kumihimo import toolsets

FOLDER = Path(toolsets.__file__).with_name("schemas")


class ToolSchemas(Struct, frozen=True):
    """What a tool takes, and what it answers."""

    arguments: Raw
    answer: Raw


@cache
def kept(name: str) -> dict[str, ToolSchemas]:
    """The schemas of a toolset, or of the tools that several have in common, by the names of the tools."""
    try:
        lines = iter(path_of(name).read_bytes().split(b"\n")[:-1])
    except FileNotFoundError:
        return {}
    return {
        tool.decode().strip('"'): ToolSchemas(Raw(arguments), Raw(answer))
        for tool, arguments, answer in zip(lines, lines, lines, strict=True)
    }


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.jsonl"


def in_common(names: list[str]) -> str:
    """The name under which the tools are kept that several toolsets have in common."""
    return "+".join(sorted(names))


def encode_kept(schemas: dict[str, ToolSchemas]) -> str:
    """The text of a file."""
    lines = [
        line for name, found in schemas.items() for line in (msgspec.json.encode(name), found.arguments, found.answer)
    ]
    return "".join(f"{bytes(line).decode()}\n" for line in lines)


def make_schema(shape: Any) -> Raw:
    whole: dict[str, Any] = msgspec.json.schema(shape)
    definitions: dict[str, Any] = whole.pop("$defs", {})
    # The outermost shape stands at the top, as clients expect of an object.
    top: dict[str, Any] = definitions.pop(str(whole.get("$ref", "")).rpartition("/")[2], whole)
    return Raw(msgspec.json.encode({**top, "$defs": definitions} if definitions else top))
