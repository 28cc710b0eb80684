"""Asking for a token."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kumihimo.wire.client.authorization.client import Client, proof
from kumihimo.wire.client.authorization.errors import AuthorizationFailed, TokenRefused
from kumihimo.wire.client.authorization.fetching import Fetched, Fetcher
from kumihimo.wire.client.authorization.grant import Grant
from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.jsonrpc import UNREADABLE


class Token(Struct, frozen=True):
    access_token: str
    token_type: str = "Bearer"  # noqa: S105 - a kind, not a secret
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None

    def __repr__(self) -> str:
        return "Token()"

    @property
    def seconds(self) -> float | None:
        """How long it is good, where that was said in a way that can be understood."""
        try:
            seconds = None if self.expires_in is None else float(self.expires_in)
        except ValueError:
            return None
        return seconds if seconds is not None and 0 <= seconds < 1e10 else None


class _Failure(Struct):
    error: str
    error_description: str | None = None


async def ask_token(
    fetcher: Fetcher,
    endpoint: str,
    issuer: str,
    client: Client,
    fields: dict[str, str],
    now: float,
    *,
    kind: str = "bearer",
) -> Token:
    """TokenRefused where the authorization server says no, ConnectionFailed where it fails."""
    told, headers = proof(client, issuer, now)
    answer = await fetcher.post_form(endpoint, {**fields, **told}, headers)
    if answer.status >= 500:
        raise ConnectionFailed(f"the authorization server failed with HTTP {answer.status}")
    if answer.status != 200:
        raise refusal_of(answer, "the request for a token")
    try:
        token = msgspec.json.decode(answer.body, type=Token)
    except UNREADABLE:
        # Some say no with a status that says yes.
        raise refusal_of(answer, "the request for a token") from None
    # It goes into a header as it is.
    usable = token.access_token.isascii() and token.access_token.isprintable() and " " not in token.access_token
    if token.token_type.lower() != kind or not usable or not token.access_token:
        raise AuthorizationFailed("the authorization server answered a token that can't be used")
    return token


async def renew(fetcher: Fetcher, grant: Grant, client: Client, now: float) -> Grant:
    """The grant with another token, for its refresh token; that may be another one too from now on."""
    assert grant.refresh_token is not None, "asked before"
    fields = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token, "resource": grant.resource}
    token = await ask_token(fetcher, grant.token_endpoint, grant.issuer, client, fields, now)
    kept = token.refresh_token or grant.refresh_token
    return replace(grant, access_token=token.access_token, refresh_token=kept).lasting(token.seconds, now)


def refusal_of(answer: Fetched, what: str) -> AuthorizationFailed:
    try:
        failure = msgspec.json.decode(answer.body, type=_Failure)
    except UNREADABLE:
        return AuthorizationFailed(f"{what} was answered with HTTP {answer.status}")
    return TokenRefused(failure.error, failure.error_description or "")
