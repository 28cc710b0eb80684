"""The tools of servers as they are listed as if they were ours: under the name `server__tool`, and in a shape that every client
can read.

A name depends on nothing but the two it is made of, so it is the same in every process and beside any other tools. What
would be too long, or has signs that models are not allowed in names, ends with a few digits that keep it apart.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, cast

MOST = 64
_DIGITS = 8
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")


def exposed_name(server: str, tool: str) -> str:
    plain = f"{server}__{tool}"
    clean = _STRANGE.sub("_", plain)
    # A server `a` with a tool `b__c` and one `a__b` with a tool `c` would have one name, and so would `a` with `_b` and `a_` with
    # `b`: the first two lines in a row are where the server ends.
    if clean == plain and len(plain) <= MOST and "__" not in f"{server}_":
        return plain
    digits = hashlib.sha256(f"{server}:{tool}".encode()).hexdigest()[:_DIGITS]
    return f"{clean[: MOST - _DIGITS - 1]}_{digits}"


def shown_definition(definition: Mapping[str, Any]) -> dict[str, Any]:
    """As its server shows it. What is of a wrong shape is left out: many clients would refuse the whole list for it, and with
    it the tools of all others."""
    shown = {key: value for key, value in definition.items() if _is_shaped(key, value)}
    schema = shown.get("inputSchema", {})
    if schema.get("type") != "object":
        # It is still the one that arguments are held against.
        shown["inputSchema"] = {**schema, "type": "object"}
    if "annotations" in shown:
        hints = cast("dict[str, Any]", shown["annotations"])
        shown["annotations"] = {key: value for key, value in hints.items() if _is_hint(key, value)}
    return shown


def _is_shaped(key: str, value: Any) -> bool:
    if key in ("description", "title"):
        return isinstance(value, str)
    if key in ("inputSchema", "annotations", "_meta", "execution"):
        return isinstance(value, dict)
    if key == "outputSchema":
        return isinstance(value, dict) and cast("dict[str, Any]", value).get("type") == "object"
    return value is not None


def _is_hint(key: str, value: Any) -> bool:
    return isinstance(value, str if key == "title" else bool) if key == "title" or key.endswith("Hint") else True
