"""Statements that are signed with a private key (JWT). It needs the package `cryptography`, which nothing else of ours does."""

from __future__ import annotations

import base64
import functools
import secrets
from typing import Any

import msgspec

from kumihimo.wire.client.authorization.client import PrivateKey
from kumihimo.wire.client.authorization.errors import AuthorizationFailed

_SECONDS = 300
_KIND = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def signed_fields(client_id: str, key: PrivateKey, issuer: str, now: float) -> dict[str, str]:
    """The fields of a token request that say who asks (RFC 7523): good for a short time, for one authorization server."""
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "iat": int(now),
        "exp": int(now) + _SECONDS,
        "jti": secrets.token_urlsafe(16),
    }
    statement = signed(key, {"typ": "JWT"}, claims)
    return {"client_id": client_id, "client_assertion_type": _KIND, "client_assertion": statement}


def signed(key: PrivateKey, head: dict[str, Any], claims: dict[str, Any]) -> str:
    """AuthorizationFailed where it can't be signed with this key."""
    said = b".".join(written(msgspec.json.encode(part)) for part in ({"alg": key.algorithm, **head}, claims))
    return (said + b"." + written(_signature(key, said))).decode()


def written(data: bytes) -> bytes:
    """As a JWT has it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _signature(key: PrivateKey, said: bytes) -> bytes:
    private = loaded(key.pem)
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    if key.algorithm == "ES256" and isinstance(private, ec.EllipticCurvePrivateKey) and private.key_size == 256:
        parts = decode_dss_signature(private.sign(said, ec.ECDSA(hashes.SHA256())))
        return b"".join(part.to_bytes(32, "big") for part in parts)
    if key.algorithm == "RS256" and isinstance(private, rsa.RSAPrivateKey):
        return private.sign(said, padding.PKCS1v15(), hashes.SHA256())
    raise AuthorizationFailed(f"the private key is not one for {key.algorithm}")


@functools.lru_cache(maxsize=64)
def loaded(pem: str) -> Any:
    """A private key as the package has it. Reading one takes longer than to sign with it."""
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise AuthorizationFailed("a private key is used with the package 'cryptography': install it") from None
    try:
        return serialization.load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError):
        raise AuthorizationFailed("the private key can't be read: it is PEM without a password") from None
