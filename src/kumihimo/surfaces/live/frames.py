"""Frames of RFC 6455, as a server sends them: without a mask, so that one frame serves every client."""

from __future__ import annotations

import struct

_TEXT = 0x81
_CLOSE = 0x88
_PING = 0x89
_SHORT = 126
_MIDDLE = 1 << 16
_LONGEST_REASON = 123


def text(payload: bytes) -> bytes:
    return _head(_TEXT, len(payload)) + payload


def ping() -> bytes:
    return _head(_PING, 0)


def close(code: int, reason: str) -> bytes:
    """A reason that is too long is cut where a character ends."""
    told = reason.encode()[:_LONGEST_REASON].decode("utf-8", "ignore").encode()
    return _head(_CLOSE, 2 + len(told)) + struct.pack("!H", code) + told


def _head(kind: int, length: int) -> bytes:
    if length < _SHORT:
        return struct.pack("!BB", kind, length)
    if length < _MIDDLE:
        return struct.pack("!BBH", kind, 126, length)
    return struct.pack("!BBQ", kind, 127, length)
