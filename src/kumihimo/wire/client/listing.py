"""Everything of one kind that a server offers, however many pages it takes to tell; and what one resource holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from kumihimo.wire.client.answers import Table, table
from kumihimo.wire.client.errors import BadAnswer
from kumihimo.wire.client.freshness import Freshness, freshness_of, freshness_of_all
from kumihimo.wire.jsonrpc import encode

Kind = Literal["tools", "resources", "templates", "prompts"]
_MOST_PAGES = 1000
# The method that lists it, and under which name.
_LISTS: dict[Kind, tuple[str, str]] = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
}


class Listing(Struct, frozen=True):
    """`freshness` is the shortest time of its pages, and public where all of them are."""

    entries: list[Table]
    freshness: Freshness = Freshness()


async def listing(kind: Kind, ask: Callable[[str, bytes], Awaitable[Raw]]) -> Listing:
    """`ask` is given a method and its fields. BadAnswer where the list has no end."""
    method, key = _LISTS[kind]
    entries: list[Table] = []
    pages: list[Freshness] = []
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = table(await ask(method, b"" if cursor is None else b'"cursor":%b' % encode(cursor)))
        entries += _entries(page, key)
        pages.append(freshness_of(page))
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            return Listing(entries, freshness_of_all(pages))
        if cursor in seen:
            break
        seen.add(cursor)
    raise BadAnswer(f"{method} never ends")


def contents_of(result: Raw) -> Listing:
    """The answer to `resources/read`."""
    found = table(result)
    return Listing(_entries(found, "contents"), freshness_of(found))


def _entries(found: Table, key: str) -> list[Table]:
    try:
        return msgspec.convert(found.get(key, []), list[Table])
    except msgspec.ValidationError:
        raise BadAnswer(f"{key} is no list of objects") from None
