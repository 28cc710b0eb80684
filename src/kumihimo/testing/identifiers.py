"""Ids that count up, so that a test can be read."""

from __future__ import annotations

from kumihimo.domain.identifiers import Identifiers


class CountingBytes:
    """Different bytes at every call, the same in every run. Not for secrets."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, size: int) -> bytes:
        self._count += 1
        # Five bits of each byte become a letter of an id: count in those.
        return bytes((self._count >> (5 * place)) & 31 for place in reversed(range(size)))


def counting_identifiers() -> Identifiers:
    return Identifiers(CountingBytes())
