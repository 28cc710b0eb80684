"""A run as a conversation: what was said, done and changed, read from the capture when somebody asks for it."""

from __future__ import annotations

import sys

import msgspec

from kumihimo.engine.agents import registry
from kumihimo.engine.agents.telling import Entry, tell
from kumihimo.services.board import Board
from kumihimo.services.outputs import most_lines, position_of, read_lines

_LINES = 200
_MOST_LINES = 2_000
_ERROR_BYTES = 16_384


class Conversation(msgspec.Struct, frozen=True):
    """`done`: the run is over and this was the last of it."""

    entries: list[Entry]
    next_cursor: str
    done: bool


def read(board: Board, reference: str, cursor: str | None, limit: int | None) -> Conversation:
    """What up to so many lines behind the cursor tell, as far as secrets are struck out of them."""
    sight = board.executions.sight(reference)
    run, end = sight.execution, sight.seen.position
    begin = position_of(cursor)
    most = most_lines(limit, _LINES, _MOST_LINES)
    entries: list[Entry] = []
    if run.log_path is not None and begin < end:
        lines, reached = read_lines(board.artifacts, run, begin, end, most)
        entries = tell(registry.find(run.client).reader(), _placed(lines, begin))
        begin = reached
    return Conversation(entries, str(begin), not run.live and begin >= end)


def errors(board: Board, reference: str) -> str:
    """The end of what a run wrote to stderr. While it runs, secrets are not struck out of it yet."""
    run = board.executions.show(reference)
    if run.live or run.log_path is None:
        return ""
    found = board.artifacts.read(run, "err", -_ERROR_BYTES, sys.maxsize)
    return "" if found is None else found.data.decode("utf-8", "replace")


def _placed(lines: list[bytes], begin: int) -> list[tuple[int, bytes]]:
    placed: list[tuple[int, bytes]] = []
    for line in lines:
        placed.append((begin, line))
        begin += len(line)
    return placed
