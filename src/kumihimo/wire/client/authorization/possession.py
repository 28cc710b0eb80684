"""Tokens that are worth nothing to who steals them (DPoP, RFC 9449): each request that brings one is signed with a key that
never leaves us, for this request alone.

Such tokens are asked for wherever the authorization server has them.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

from kumihimo.wire.client.authorization.client import PrivateKey
from kumihimo.wire.client.authorization.errors import AuthorizationFailed
from kumihimo.wire.client.authorization.metadata import ServerMetadata
from kumihimo.wire.client.authorization.signing import loaded, signed, written

_NONCE_WANTED = b"use_dpop_nonce"
_NONCE_HEADER = b"dpop-nonce"
_ALGORITHM = "ES256"
_COORDINATE_BYTES = 32


def key_for(server: ServerMetadata, known: PrivateKey | None, *, needed: bool) -> PrivateKey | None:
    """What a token is to be bound to, the same as before where there was one; None where it is bound to nothing.
    AuthorizationFailed where it is needed and can't be had."""
    if _ALGORITHM not in (server.dpop_signing_alg_values_supported or ()):
        if needed:
            raise AuthorizationFailed("the server wants tokens that are bound to a key (DPoP), and nobody gives them")
        return None
    return known or _new_key(needed=needed)


def _new_key(*, needed: bool) -> PrivateKey | None:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        if needed:
            raise AuthorizationFailed(
                "the server wants tokens that are bound to a key (DPoP): install the package 'cryptography'"
            ) from None
        return None
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return PrivateKey(ec.generate_private_key(ec.SECP256R1()).private_bytes(*form).decode(), _ALGORITHM)


def proven(
    key: PrivateKey, method: str, url: str, now: float, *, token: str | None = None, nonce: str | None = None
) -> str:
    """That a request to this URL is ours. `token` is what it brings, `nonce` what the other side wants to see in it."""
    claims: dict[str, Any] = {
        "jti": secrets.token_urlsafe(16),
        "htm": method,
        "htu": url.partition("#")[0].partition("?")[0],
        "iat": int(now),
    }
    if token is not None:
        claims["ath"] = written(hashlib.sha256(token.encode()).digest()).decode()
    if nonce is not None:
        claims["nonce"] = nonce
    return signed(key, {"typ": "dpop+jwt", "jwk": _public(key)}, claims)


def nonce_in(headers: Mapping[bytes, bytes]) -> str | None:
    """What the next proof for whoever has answered this has to hold."""
    nonce = headers.get(_NONCE_HEADER)
    return None if nonce is None else nonce.decode("latin-1")


def nonce_wanted(headers: Mapping[bytes, bytes], reason: bytes) -> str | None:
    """The same, where that is why a request was refused."""
    return nonce_in(headers) if _NONCE_WANTED in reason else None


def _public(key: PrivateKey) -> dict[str, str]:
    numbers = loaded(key.pem).public_key().public_numbers()
    x, y = (written(number.to_bytes(_COORDINATE_BYTES, "big")).decode() for number in (numbers.x, numbers.y))
    return {"kty": "EC", "crv": "P-256", "x": x, "y": y}
