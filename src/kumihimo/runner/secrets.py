"""What an instance was trusted with, in every form in which it may print it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
# Shorter values are words that any text may hold.
_SHORTEST = 8


def secrets_of(given: Iterable[str], environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """What was given as a secret, and values that their names give away; the longest first, so that one inside another
    is struck out with it. Streams are JSON: what is written otherwise there is looked for in both ways."""
    values = {value for value in given if value}
    values |= {
        value
        for name, value in environment.items()
        if len(value) >= _SHORTEST and any(word in name.upper() for word in _WORDS)
    }
    found = {value.encode("utf-8", "surrogateescape") for value in values}
    found |= {msgspec.json.encode(value)[1:-1] for value in values if value.isprintable()}
    return tuple(sorted(found, key=len, reverse=True))
