"""A client that proves itself with its private key (RFC 7523): a short-lived statement for one authorization server.

It needs the package `cryptography`, which nothing else of ours does.
"""

from __future__ import annotations

import base64
import secrets

import msgspec

from kumihimo.wire.client.authorization.client import PrivateKey
from kumihimo.wire.client.authorization.errors import AuthorizationFailed

_SECONDS = 300
_KIND = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def signed_fields(client_id: str, key: PrivateKey, issuer: str, now: float) -> dict[str, str]:
    """The fields of a token request that say who asks."""
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "iat": int(now),
        "exp": int(now) + _SECONDS,
        "jti": secrets.token_urlsafe(16),
    }
    head = {"alg": key.algorithm, "typ": "JWT"}
    said = b".".join(_written(msgspec.json.encode(part)) for part in (head, claims))
    statement = said + b"." + _written(_signature(key, said))
    return {"client_id": client_id, "client_assertion_type": _KIND, "client_assertion": statement.decode()}


def _signature(key: PrivateKey, said: bytes) -> bytes:
    try:
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    except ImportError:
        raise AuthorizationFailed("a private key is used with the package 'cryptography': install it") from None
    try:
        private = serialization.load_pem_private_key(key.pem.encode(), password=None)
    except (ValueError, TypeError):
        raise AuthorizationFailed("the private key can't be read: it is PEM without a password") from None
    if key.algorithm == "ES256" and isinstance(private, ec.EllipticCurvePrivateKey) and private.key_size == 256:
        parts = decode_dss_signature(private.sign(said, ec.ECDSA(hashes.SHA256())))
        return b"".join(part.to_bytes(32, "big") for part in parts)
    if key.algorithm == "RS256" and isinstance(private, rsa.RSAPrivateKey):
        return private.sign(said, padding.PKCS1v15(), hashes.SHA256())
    raise AuthorizationFailed(f"the private key is not one for {key.algorithm}")


def _written(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
