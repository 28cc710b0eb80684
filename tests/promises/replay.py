"""The log held against the board: what the newest event of everything says, and what the tables say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from kumihimo.domain.event import Event
from kumihimo.store.repository import Repository
from kumihimo.store.store import Store, Transaction

Board = dict[str, dict[str, Any]]
# Where the noun of the events is not the name of the repository without its last letter.
_NOUNS = {"memories": "memory"}


def replay(events: Iterable[Event], start: Board | None = None) -> Board:
    """By noun and id, the value in the newest event of each thing."""
    board: Board = start if start is not None else {}
    for event in events:
        board.setdefault(event.noun, {})[event.subject] = msgspec.json.decode(event.data)
    return board


def rows(store: Store) -> Board:
    """By noun and id, every row of every table, read through the repositories."""

    def read(transaction: Transaction) -> Board:
        repositories = {
            _NOUNS.get(name, name.removesuffix("s")): part
            for name, part in vars(transaction).items()
            if isinstance(part, Repository)
        }
        found = {
            noun: {value.id: plain(value) for value in repository.many()} for noun, repository in repositories.items()
        }
        return {noun: values for noun, values in found.items() if values}

    return store.read(read)


def plain(value: Any) -> Any:
    """A value as an event carries it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def log(store: Store, cursor: str | None = None) -> list[Event]:
    """Everything settled behind the cursor."""
    found: list[Event] = []
    while events := store.events_after(cursor, 1_000):
        found += events
        cursor = events[-1].cursor
    return found


def differences(one: Board, other: Board) -> list[str]:
    """Where two boards differ, in words that fit into a failure."""
    nouns = sorted({*one, *other})
    return [
        f"{noun} {identifier}: {one.get(noun, {}).get(identifier)} is not {other.get(noun, {}).get(identifier)}"
        for noun in nouns
        for identifier in sorted({*one.get(noun, {}), *other.get(noun, {})})
        if one.get(noun, {}).get(identifier) != other.get(noun, {}).get(identifier)
    ]


def require_same_board(store: Store) -> None:
    """The log replays to the board that the tables hold."""
    assert differences(replay(log(store)), rows(store)) == []
