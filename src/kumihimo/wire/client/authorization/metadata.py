"""What a resource and an authorization server say of themselves (RFC 9728, RFC 8414, OpenID Connect Discovery)."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from kumihimo.wire.client.authorization import addresses
from kumihimo.wire.client.authorization.errors import AuthorizationFailed
from kumihimo.wire.jsonrpc import UNREADABLE

Kind = TypeVar("Kind")
Texts = tuple[str, ...]


class ResourceMetadata(Struct, frozen=True):
    resource: str
    authorization_servers: Texts | None = None
    scopes_supported: Texts | None = None


class ServerMetadata(Struct, frozen=True, kw_only=True):
    """`assumed` where there is no such document, and the endpoints are where the oldest revision has them."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    scopes_supported: Texts | None = None
    token_endpoint_auth_methods_supported: Texts | None = None
    code_challenge_methods_supported: Texts | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None
    dpop_signing_alg_values_supported: Texts | None = None
    assumed: bool = False


class Found(Struct, frozen=True):
    """The resource by the name that tokens are asked for with, and who gives them. `own` where the server does so itself,
    as in the oldest revision."""

    resource: str
    issuers: Texts
    scopes: Texts | None = None
    own: bool = False


def read(body: bytes, kind: type[Kind]) -> Kind:
    """AuthorizationFailed where it is something else."""
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE as error:
        # What it is of the document is told, and where; never what stood there.
        raise AuthorizationFailed(f"the metadata has another shape: {error}") from None


def assumed(url: str) -> ServerMetadata:
    """What the oldest revision has where a server says nothing of itself."""
    base = addresses.base(url)
    return ServerMetadata(
        issuer=base,
        authorization_endpoint=f"{base}/authorize",
        token_endpoint=f"{base}/token",
        registration_endpoint=f"{base}/register",
        assumed=True,
    )
