"""Finding tools by words: what is in a name counts more than what is in a description."""

from __future__ import annotations

from collections.abc import Iterable

from kumihimo.hub.tools import Tool

# How well a word fits: the name itself, its beginning, somewhere in it, somewhere in what is said about it.
_WHOLE, _BEGINNING, _INSIDE, _TOLD = 8, 4, 2, 1


def search(tools: Iterable[Tool], query: str | None, limit: int) -> list[Tool]:
    """The tools that have every word of the query, the best first; without a query all of them, in their order."""
    words = (query or "").lower().split()
    if not words:
        return list(tools)[:limit]
    weighed = [(weight(tool, words), tool) for tool in tools]
    found = [(score, tool) for score, tool in weighed if score]
    found.sort(key=lambda pair: (-pair[0], len(pair[1].short_name), pair[1].name))
    return [tool for _, tool in found[:limit]]


def weight(tool: Tool, words: list[str]) -> int:
    """0 where a word is missing."""
    name, full, told = tool.short_name.lower(), tool.name.lower(), tool.description.lower()
    total = 0
    for word in words:
        if word in (name, full):
            total += _WHOLE
        elif name.startswith(word):
            total += _BEGINNING
        elif word in full:
            total += _INSIDE
        elif word in told:
            total += _TOLD
        else:
            return 0
    return total
