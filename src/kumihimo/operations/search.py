"""Search over everything that is on the board."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.operations.operation import Arguments, Call, Shape, operation
from kumihimo.services.searching import Hit
from kumihimo.services.searching import search as search_board


class Search(Arguments, frozen=True):
    query: Annotated[str, Meta(description="Words that all of them must occur, in any case.", max_length=200)]
    limit: Annotated[int, Meta(description="How many hits at most (20).", ge=1, le=100)] = 20


class HitsShape(Shape, frozen=True, omit_defaults=False):
    hits: list[Hit]


@operation("board.search", Search, HitsShape, reads=True)
def search(call: Call, arguments: Search) -> HitsShape:
    """Find tasks, runs, groups, agents, memories, handoffs and projects by words in them, or by their id."""
    return HitsShape(hits=search_board(call.board, arguments.query, arguments.limit))


OPERATIONS = (search,)
