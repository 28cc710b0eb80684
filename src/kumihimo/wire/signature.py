"""Tokens that prove themselves: sessions and request states that any process with the same key accepts.

A token is `<payload>.<mac>`, both base64url. It is readable by whoever holds it and cannot be altered.
"""

import base64
import binascii
import hmac
from typing import Final

_MAC_BYTES: Final = 16


def sign(key: bytes, purpose: str, payload: bytes) -> str:
    """A token for `payload` that only `verify` with the same key and purpose accepts."""
    return f"{_encode(payload)}.{_encode(_mac(key, purpose, payload))}"


def verify(key: bytes, purpose: str, token: str) -> bytes | None:
    """The payload of a token, or None where it was not made by this key for this purpose."""
    encoded, dot, mac = token.partition(".")
    if not dot:
        return None
    try:
        payload = _decode(encoded)
        given = _decode(mac)
    except (binascii.Error, ValueError):
        return None
    # A second spelling of the same token would let one be altered without notice: only the canonical one counts.
    if _encode(payload) != encoded or _encode(given) != mac:
        return None
    return payload if hmac.compare_digest(given, _mac(key, purpose, payload)) else None


def _mac(key: bytes, purpose: str, payload: bytes) -> bytes:
    return hmac.digest(key, purpose.encode() + b"\0" + payload, "sha256")[:_MAC_BYTES]


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decode(text: str) -> bytes:
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
