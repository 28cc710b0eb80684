"""Ids that people can read aloud: a prefix that says what it is, and letters that do not look like one another."""

from __future__ import annotations

from collections.abc import Callable

PREFIXES = {
    "project": "prj_",
    "agent": "agt_",
    "task": "tsk_",
    "execution": "exec_",
    "handoff": "hnd_",
    "context": "ctx_",
    "session": "ssn_",
    "hub_call": "hub_",
}
TOKEN_PREFIX = "sess_"  # noqa: S105 - the prefix, not a token
LENGTH = 12
_ALPHABET = b"0123456789abcdefghjkmnpqrstvwxyz"
# Five bits of each byte.
_LETTERS = bytes(_ALPHABET[byte & 31] for byte in range(256))


class Identifiers:
    """New ids from a source of random bytes, which a test can make countable."""

    def __init__(self, random_bytes: Callable[[int], bytes]) -> None:
        self._random_bytes = random_bytes

    def new(self, noun: str) -> str:
        return PREFIXES[noun] + self.letters(LENGTH)

    def letters(self, count: int) -> str:
        return self._random_bytes(count).translate(_LETTERS).decode()

    def hexadecimal(self, digits: int) -> str:
        return self._random_bytes((digits + 1) // 2).hex()[:digits]

    def secret(self, prefix: str = "") -> str:
        """160 bits that nobody can guess."""
        return prefix + self.letters(32)
