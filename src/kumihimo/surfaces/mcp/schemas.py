"""The schemas of tools, kept in files beside the toolsets: to make them from types takes longer than a list may.

`make snapshots` writes the files and `make check` compares them. What is in none of them is made when it is asked for.

A file has three lines for each tool: its name, what it takes, what it answers, each of them JSON. Lines are found without
parsing anything, which would be half of what the first list of a process takes.
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


def group_of(*toolset_names: str) -> str:
    """The tools of one toolset, or those that several have in common: `manager`, `manager+worker`."""
    return "+".join(sorted(toolset_names))


def find_kept(group: str, tool: str) -> ToolSchemas | None:
    found = read_kept(group).get(msgspec.json.encode(tool))
    return None if found is None else ToolSchemas(Raw(found[0]), Raw(found[1]))


@cache
def read_kept(group: str) -> dict[bytes, tuple[bytes, bytes]]:
    try:
        with open(f"{FOLDER}/{group}.jsonl", "rb", buffering=0) as file:  # noqa: PTH123 - a Path takes twice as long
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return {}
    return dict(zip(lines[0:-1:3], zip(lines[1::3], lines[2::3], strict=True), strict=True))


def encode_kept(schemas: dict[str, ToolSchemas]) -> str:
    """The text of a file."""
    parts = [part for name, it in schemas.items() for part in (msgspec.json.encode(name), it.arguments, it.answer)]
    return "".join(f"{bytes(part).decode()}\n" for part in parts)


def make_schema(shape: Any) -> Raw:
    whole: dict[str, Any] = msgspec.json.schema(shape)
    definitions: dict[str, Any] = whole.pop("$defs", {})
    # The outermost shape stands at the top, as clients expect of an object.
    top: dict[str, Any] = definitions.pop(str(whole.get("$ref", "")).rpartition("/")[2], whole)
    return Raw(msgspec.json.encode({**top, "$defs": definitions} if definitions else top))
