"""A line of a stream, as a table whose fields may be missing or of any kind."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import isfinite
from typing import Any, cast

import msgspec

Table = dict[str, Any]

# What decoding can raise for bytes that are no JSON: bad syntax, bad UTF-8, too deep.
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)

# In the place of NUL, which JSON may hold, and neither a command line nor every database.
NO_NUL = "\N{REPLACEMENT CHARACTER}"
_MOST = 2**53
# JavaScript writes half of a character outside the first plane as an escape of its own: one without its other half is none.
_HALF_MARK = "\\ud"
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
_decode = msgspec.json.Decoder().decode


def table_of(line: bytes | str) -> Table | None:
    """The line as a JSON object, or None where it is none."""
    try:
        found = _decode(line)
    except UNREADABLE:
        return _mended(line)
    return cast("Table", found) if isinstance(found, dict) else None


def _mended(line: bytes | str) -> Table | None:
    """One bad byte in what a tool printed, or half a character where words were cut, must not lose the line that carries it."""
    if isinstance(line, str) or not line.lstrip().startswith(b"{"):
        return None
    told = line.decode("utf-8", "replace")
    if _HALF_MARK in told.lower():
        told = _ESCAPE.sub(_whole_characters, told)
    return table_of(told)


def _whole_characters(escape: re.Match[str]) -> str:
    return escape[0] if escape[1] is None else "\\ufffd"


def plain(printed: bytes) -> str:
    """What a program has printed, as text that can be kept."""
    return printed.decode("utf-8", "replace").replace("\0", NO_NUL)


def text(table: Table, name: str) -> str:
    value = table.get(name)
    return value.replace("\0", NO_NUL) if isinstance(value, str) else ""


def inner(table: Table, name: str) -> Table:
    value = table.get(name)
    return cast("Table", value) if isinstance(value, dict) else {}


def rows(table: Table, name: str) -> list[Table]:
    """The tables in a list, without what is none."""
    value = table.get(name)
    if not isinstance(value, list):
        return []
    return [cast("Table", row) for row in cast("list[Any]", value) if isinstance(row, dict)]


def count(table: Table, name: str) -> int:
    """A number of tokens or the like: never negative, never absurd."""
    value = table.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return 0
    return max(0, min(int(value), _MOST))


def money(table: Table, name: str) -> float | None:
    value = table.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        amount = float(value)
    except OverflowError:
        return None
    return amount if isfinite(amount) and amount >= 0 else None


def moment(table: Table, name: str) -> datetime | None:
    """The line's own time: ISO 8601, or milliseconds since 1970."""
    value = table.get(name)
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def words(value: object) -> str:
    """The text of a content that is a string, or a list of blocks of which some have text."""
    if isinstance(value, str):
        return value.replace("\0", NO_NUL)
    if isinstance(value, list):
        blocks = rows({"": value}, "")
        return "\n".join(found for block in blocks if (found := text(block, "text")))
    return ""


def listed(table: Table, name: str) -> str:
    """A list of texts in one line."""
    value = table.get(name)
    if not isinstance(value, list):
        return ""
    return "; ".join(str(one)[:500] for one in cast("list[Any]", value)[:5]).replace("\0", NO_NUL)
