"""Who we are to an authorization server, and how that is proven at its token endpoint."""

from __future__ import annotations

import base64
from typing import Literal
from urllib.parse import quote_plus

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.wire.client.authorization.metadata import ServerMetadata

Method = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
Algorithm = Literal["ES256", "RS256"]


class PrivateKey(Struct, frozen=True):
    pem: str
    algorithm: Algorithm = "ES256"

    def __repr__(self) -> str:
        return f"PrivateKey({self.algorithm})"


class Client(Struct, frozen=True, kw_only=True):
    """`issuer` is whom it belongs to, None where that was never said."""

    id: str
    secret: str | None = None
    key: PrivateKey | None = None
    method: Method | None = None
    issuer: str | None = None

    def __repr__(self) -> str:
        return f"Client({self.id!r})"


def with_method(client: Client, server: ServerMetadata) -> Client:
    """The client with the way to prove itself that both can."""
    if client.method is not None:
        return client
    if client.key is not None:
        return replace(client, method="private_key_jwt")
    if client.secret is None:
        return replace(client, method="none")
    return replace(client, method=secret_method(server.token_endpoint_auth_methods_supported))


def secret_method(supported: tuple[str, ...] | None) -> Method:
    """How a secret is sent. Who says nothing takes it in a header."""
    if supported is None or "client_secret_basic" in supported:
        return "client_secret_basic"
    return "client_secret_post" if "client_secret_post" in supported else "none"


def proof(client: Client, issuer: str, now: float) -> tuple[dict[str, str], dict[str, str]]:
    """Fields and headers of a token request."""
    if client.method == "client_secret_basic" and client.secret is not None:
        pair = f"{quote_plus(client.id)}:{quote_plus(client.secret)}".encode()
        return {}, {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    if client.method == "client_secret_post" and client.secret is not None:
        return {"client_id": client.id, "client_secret": client.secret}, {}
    if client.method == "private_key_jwt" and client.key is not None:
        # Only who has a key needs what signs with it.
        from kumihimo.wire.client.authorization.signing import signed_fields

        return signed_fields(client.id, client.key, issuer, now), {}
    return {"client_id": client.id}, {}
