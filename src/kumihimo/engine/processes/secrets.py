"""Secrets of a run: what must not be found in anything that is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "PASSKEY")
# Shorter ones are words that any text may hold.
_SHORTEST = 8


def secrets_in(environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """Values that their names give away, longest first, so that one inside another is struck out with it."""
    values = {value for name, value in environment.items() if len(value) >= _SHORTEST and _gives_away(name)}
    return tuple(value.encode("utf-8", "surrogateescape") for value in sorted(values, key=len, reverse=True))


# The same few names come with every run.
@lru_cache(maxsize=1_000)
def _gives_away(name: str) -> bool:
    return any(word in name.upper() for word in _WORDS)
