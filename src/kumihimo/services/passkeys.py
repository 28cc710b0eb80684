"""Passkeys: argon2id hashes, compared so that nobody learns from the time whether an agent exists."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

_HASHER = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
# The hash of a passkey that was thrown away, made with the same parameters: checked where there is none to check.
NOBODY = "$argon2id$v=19$m=65536,t=3,p=4$9nUCTexzV3Gj3Rb5MjjROg$RFSBK12FDsiu6E8NKqcXJ3AAUlPDC0fSdSQXZg5K5+o"


def hash_of(passkey: str) -> str:
    return _HASHER.hash(passkey)


def matches(stored: str | None, passkey: str) -> bool:
    """Whether the passkey is right. As slow for an agent without one."""
    try:
        _HASHER.verify(stored or NOBODY, passkey)
    except (VerificationError, InvalidHashError):
        return False
    return stored is not None
