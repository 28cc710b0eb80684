"""What an instance was trusted with, in every form in which it may print it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from kumihimo.engine.processes.secrets import secrets_in


def secrets_of(given: Iterable[str], environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """What was given as a secret, and values that their names give away; the longest first, so that one inside another
    is struck out with it. Streams are JSON: what is written otherwise there is looked for in both ways."""
    found = {value.encode("utf-8", "surrogateescape") for value in given if value} | set(secrets_in(environment))
    texts = [value.decode("utf-8", "surrogateescape") for value in found]
    found |= {msgspec.json.encode(value)[1:-1] for value in texts if value.isprintable()}
    return tuple(sorted(found, key=len, reverse=True))
