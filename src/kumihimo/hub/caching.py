"""Answers kept for a while: at most a thousand, the least used go first, and none lives longer than it was given.

Whatever may have changed something on a server clears what was read from it, both when it begins and when it ends: a
read that overlaps with it is not kept.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

MOST_ENTRIES = 1000
SECONDS = 60.0


class _Entry(NamedTuple):
    value: Any
    until: float
    server: Hashable


class Cache:
    def __init__(self, now: Callable[[], float], most_entries: int = MOST_ENTRIES) -> None:
        self._now = now
        self._most_entries = most_entries
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._keys: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
        self._ages: defaultdict[Hashable, int] = defaultdict(int)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Any | None:
        """What was kept; its time is not made longer by that."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._now() >= entry.until:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return entry.value

    def age(self, server: Hashable) -> int:
        """To be asked before reading, and told when what was read is kept."""
        return self._ages[server]

    def put(self, server: Hashable, key: Hashable, value: Any, seconds: float, age: int) -> None:
        """Keep it, unless the server was cleared since it was asked for."""
        if seconds <= 0 or age != self._ages[server]:
            return
        self._drop(key)
        self._entries[key] = _Entry(value, self._now() + seconds, server)
        self._keys[server].add(key)
        while len(self._entries) > self._most_entries:
            self._drop(next(iter(self._entries)))

    def clear(self, server: Hashable) -> None:
        self._ages[server] += 1
        for key in self._keys.pop(server, ()):
            del self._entries[key]

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._keys[entry.server].discard(key)
