"""Passes: by one, a door lets in another door of the same board, for one path and for a minute."""

from __future__ import annotations

from datetime import datetime

import msgspec

from kumihimo.wire.signature import sign, verify

_PURPOSE = "door"


class _Pass(msgspec.Struct, frozen=True, array_like=True):
    host: str
    path: str
    until: float


def sign_pass(key: bytes, host: str, path: str, until: datetime) -> str:
    """`host` is the one whose door it opens."""
    return sign(key, _PURPOSE, msgspec.json.encode(_Pass(host, path, until.timestamp())))


def is_pass(key: bytes, secret: str, host: str, path: str, now: datetime) -> bool:
    payload = verify(key, _PURPOSE, secret)
    if payload is None:
        return False
    told = msgspec.json.decode(payload, type=_Pass)
    return (told.host, told.path) == (host, path) and told.until > now.timestamp()
