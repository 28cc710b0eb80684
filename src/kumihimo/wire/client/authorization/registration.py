"""Coming by a client id: one that we were given, the address of a document about us, or a registration."""

from __future__ import annotations

from typing import cast, get_args

from msgspec import Struct

from kumihimo.wire.client.authorization import addresses
from kumihimo.wire.client.authorization.client import Client, Method, secret_method, with_method
from kumihimo.wire.client.authorization.errors import AuthorizationFailed, told
from kumihimo.wire.client.authorization.fetching import Fetcher
from kumihimo.wire.client.authorization.metadata import ServerMetadata, read
from kumihimo.wire.client.authorization.token_endpoint import refusal_of

NAME = "Kumihimo"


class _Registered(Struct):
    client_id: str
    client_secret: str | None = None
    token_endpoint_auth_method: str | None = None


async def client_for(
    fetcher: Fetcher,
    server: ServerMetadata,
    redirect_uri: str,
    *,
    given: Client | None,
    document: str | None,
    known: Client | None,
) -> Client:
    """`given` is configured, `document` the address of one about us, `known` the client of the login before. Whoever has
    none of them registers at each login: the address that the person is sent back to is another each time."""
    if given is not None:
        return with_method(belonging(given, server, known), server)
    if document is not None and server.client_id_metadata_document_supported:
        return Client(id=document, method="none")
    if server.registration_endpoint is None:
        raise AuthorizationFailed(
            f"{told(server.issuer)} registers no clients by itself: register one there and set its client_id"
        )
    return await _register(fetcher, server, server.registration_endpoint, redirect_uri)


def belonging(given: Client, server: ServerMetadata, known: Client | None) -> Client:
    """The client with whom it belongs to: where that was never said, whoever was asked with it first."""
    issuer = given.issuer or (known.issuer if known is not None and known.id == given.id else None) or server.issuer
    if not addresses.same_issuer(issuer, server.issuer):
        raise AuthorizationFailed(
            f"the client '{told(given.id)}' belongs to {told(issuer)}, but the server now trusts {told(server.issuer)}"
        )
    return Client(id=given.id, secret=given.secret, key=given.key, method=given.method, issuer=server.issuer)


async def _register(fetcher: Fetcher, server: ServerMetadata, endpoint: str, redirect_uri: str) -> Client:
    supported = server.token_endpoint_auth_methods_supported
    # What is installed on many machines can keep no secret: none is asked for where that is allowed.
    method = "none" if supported is None or "none" in supported else secret_method(supported)
    wanted = {
        "client_name": NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "native",
    }
    answer = await fetcher.post_json(endpoint, wanted)
    if answer.status not in (200, 201):
        raise refusal_of(answer, "the registration")
    registered = read(answer.body, _Registered)
    agreed = registered.token_endpoint_auth_method or method
    if agreed not in get_args(Method) or not registered.client_id:
        raise AuthorizationFailed(f"the registration asks for {told(agreed)}, which is not known here")
    return Client(
        id=registered.client_id,
        secret=registered.client_secret,
        method=cast("Method", agreed),
        issuer=server.issuer,
    )
