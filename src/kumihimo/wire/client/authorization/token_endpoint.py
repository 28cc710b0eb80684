"""Asking for a token."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kumihimo.wire.client.authorization.client import Client, PrivateKey, proof
from kumihimo.wire.client.authorization.errors import AuthorizationFailed, TokenRefused
from kumihimo.wire.client.authorization.fetching import Fetched, Fetcher
from kumihimo.wire.client.authorization.grant import Grant
from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.jsonrpc import UNREADABLE

BOUND = "dpop"


class Token(Struct, frozen=True):
    access_token: str
    token_type: str = "Bearer"  # noqa: S105 - a kind, not a secret
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None

    def __repr__(self) -> str:
        return "Token()"

    def bound_to(self, key: PrivateKey | None) -> PrivateKey | None:
        """The key that it was asked for with, unless it is one that anybody could use."""
        return key if self.token_type.lower() == BOUND else None

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
    key: PrivateKey | None = None,
    kinds: tuple[str, ...] = ("bearer",),
) -> Token:
    """TokenRefused where the authorization server says no, ConnectionFailed where it fails. With a key the token may be one
    that is bound to it."""
    told, headers = proof(client, issuer, now)
    answer = await _asked(fetcher, endpoint, {**fields, **told}, headers, key, now)
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
    known = token.token_type.lower() in (*kinds, *((BOUND,) if key is not None else ()))
    if not known or not usable or not token.access_token:
        raise AuthorizationFailed("the authorization server answered a token that can't be used")
    return token


async def _asked(
    fetcher: Fetcher, endpoint: str, fields: dict[str, str], headers: dict[str, str], key: PrivateKey | None, now: float
) -> Fetched:
    if key is None:
        return await fetcher.post_form(endpoint, fields, headers)
    # Few authorization servers want it.
    from kumihimo.wire.client.authorization.possession import nonce_wanted, proven

    def with_proof(nonce: str | None) -> dict[str, str]:
        return {**headers, "DPoP": proven(key, "POST", endpoint, now, nonce=nonce)}

    answer = await fetcher.post_form(endpoint, fields, with_proof(None))
    nonce = nonce_wanted(answer.headers, answer.body)
    return answer if nonce is None else await fetcher.post_form(endpoint, fields, with_proof(nonce))


async def renew(fetcher: Fetcher, grant: Grant, client: Client, now: float) -> Grant:
    """The grant with another token, for its refresh token; that may be another one too from now on."""
    assert grant.refresh_token is not None, "asked before"
    fields = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token, "resource": grant.resource}
    token = await ask_token(fetcher, grant.token_endpoint, grant.issuer, client, fields, now, key=grant.key)
    kept = token.refresh_token or grant.refresh_token
    renewed = replace(grant, access_token=token.access_token, refresh_token=kept, key=token.bound_to(grant.key))
    return renewed.lasting(token.seconds, now)


def refusal_of(answer: Fetched, what: str) -> AuthorizationFailed:
    try:
        failure = msgspec.json.decode(answer.body, type=_Failure)
    except UNREADABLE:
        return AuthorizationFailed(f"{what} was answered with HTTP {answer.status}")
    return TokenRefused(failure.error, failure.error_description or "")
