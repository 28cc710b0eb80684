"""Lists are paged by key: the cursor is the key of the last row that was given, as text that nobody should read."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Generic, TypeVar

import msgspec

from kumihimo.domain.errors import CursorInvalid, InvalidValue

V = TypeVar("V")
LIMIT = 20
MOST = 1_000


class Page(msgspec.Struct, Generic[V], frozen=True):
    """Some rows, and the cursor that continues behind them where there are more."""

    items: list[V]
    next_cursor: str | None = None


def bounded(limit: int | None) -> int:
    if limit is None:
        return LIMIT
    if not 1 <= limit <= MOST:
        raise InvalidValue("limit", "out_of_range", value=limit, least=1, most=MOST)
    return limit


def encode(*key: str | int) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def decode(cursor: str, *kinds: type) -> list[Any]:
    """The key in a cursor, which must have these kinds of parts."""
    try:
        parts = msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=list[Any])
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        raise CursorInvalid(cursor) from None
    if [type(part) for part in parts] != list(kinds) or not all(map(_storable, parts)):
        raise CursorInvalid(cursor)
    return parts


def _storable(part: Any) -> bool:
    """Whether both databases can compare with it."""
    return abs(part) < 2**63 if isinstance(part, int) else "\0" not in str(part)
