"""Search: where on the board some words occur. The newest things of each kind are looked through, the newest first."""

from __future__ import annotations

import msgspec

from kumihimo.services.board import Board
from kumihimo.store.searching import Found, found_in

_LONGEST_TITLE = 160
_LONGEST_EXCERPT = 200


class Hit(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`id` is what the verbs of its kind take."""

    kind: str
    id: str
    title: str
    excerpt: str = ""
    status: str | None = None
    project_id: str | None = None


def search(board: Board, query: str, limit: int) -> list[Hit]:
    words = query.lower().split()
    if not words:
        return []
    found = board.store.read(lambda transaction: found_in(transaction.connection, words, limit))
    # Who asks for something by its name means the thing that is called so.
    found.sort(key=lambda it: 0 if query.lower().strip() in (it.id.lower(), it.title.lower()) else 1)
    return [_hit(it, words) for it in found[:limit]]


def _hit(it: Found, words: list[str]) -> Hit:
    title = " ".join(it.title.split())[:_LONGEST_TITLE]
    return Hit(it.kind, it.id, title, _excerpt(it.text, words), it.status, it.project_id)


def _excerpt(text: str, words: list[str]) -> str:
    """The text around the first of the words."""
    flat = " ".join(text.split())
    places = [place for word in words if (place := flat.lower().find(word)) >= 0]
    begin = max(0, min(places, default=0) - _LONGEST_EXCERPT // 4)
    cut = flat[begin : begin + _LONGEST_EXCERPT]
    return ("…" if begin else "") + cut + ("…" if begin + len(cut) < len(flat) else "")
