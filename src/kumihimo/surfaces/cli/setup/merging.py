"""Our entry put among the servers of a document."""

from __future__ import annotations

from typing import Any, Literal, cast

from msgspec import Struct

from kumihimo.surfaces.cli.setup.document import Document, KeyPath
from kumihimo.surfaces.cli.setup.entry import SERVER, merged
from kumihimo.surfaces.cli.setup.refusal import Refusal, Unreadable

Was = Literal["absent", "same", "different"]


class Merge(Struct, frozen=True):
    """The document as it is to be, what stood in the place of our entry, and which keys of that are changed."""

    document: Document
    was: Was
    keys: tuple[str, ...] = ()


def merge(document: Document, servers: str, ours: dict[str, Any]) -> Merge:
    """The entry added, or brought up to date key by key. The result is read again and compared before it is trusted."""
    whole = _table(document, (), document.value)
    table = _table(document, (servers,), whole.get(servers, {}))
    existing = table.get(SERVER)
    wanted = merged(cast("dict[str, Any]", existing), ours) if isinstance(existing, dict) else ours
    try:
        new = _edited(document, (servers, SERVER), existing, wanted)
    except Unreadable:
        new = None
    if new is None or new.value != {**whole, servers: {**table, SERVER: wanted}}:
        raise Refusal("by_hand")
    if SERVER not in table:
        return Merge(new, "absent")
    if existing == wanted:
        return Merge(new, "same")
    present = cast("dict[str, Any]", existing) if isinstance(existing, dict) else {}
    changed = [key for key in {**present, **wanted} if present.get(key) != wanted.get(key)]
    return Merge(new, "different", tuple(changed))


def _edited(document: Document, path: KeyPath, existing: Any, wanted: dict[str, Any]) -> Document:
    if not isinstance(existing, dict):
        return document.put(path, wanted)
    present = cast("dict[str, Any]", existing)
    for key in present.keys() - wanted.keys():
        document = document.remove((*path, key))
    for key, value in wanted.items():
        if key not in present or present[key] != value:
            document = document.put((*path, key), value)
    return document


def _table(document: Document, path: KeyPath, value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise Unreadable(document.line_of(path) if path else 1, "not_a_table")
