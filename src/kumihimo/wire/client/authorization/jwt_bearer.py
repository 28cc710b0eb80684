"""A token for a statement that somebody else has signed for us (RFC 7523): a workload's platform, or a company's login."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kumihimo.wire.client.authorization.client import Client, with_method
from kumihimo.wire.client.authorization.grant import Grant
from kumihimo.wire.client.authorization.registration import belonging
from kumihimo.wire.client.authorization.token_endpoint import ask_token
from kumihimo.wire.client.authorization.way import Wanted

Statement = Callable[[Wanted], Awaitable[str]]
_KIND = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105 - a kind, not a secret
_FOR_ANOTHER = "urn:ietf:params:oauth:token-type:id-jag"


class JwtBearer:
    """`statement` is asked for anew for each token: such statements are short-lived."""

    open = True

    def __init__(self, statement: Statement, client: Client, *, scopes: tuple[str, ...] = ()) -> None:
        self.client: Client | None = client
        self.scopes = scopes
        self._given = client
        self._statement = statement

    async def obtain(self, wanted: Wanted) -> Grant:
        known = wanted.known.client if wanted.known is not None else None
        client = with_method(belonging(self._given, wanted.server, known), wanted.server)
        fields = {"grant_type": _KIND, "assertion": await self._statement(wanted)}
        if wanted.scopes:
            fields["scope"] = " ".join(wanted.scopes)
        token = await wanted.ask(client, fields)
        return wanted.granted(client, token, wanted.scopes)


class IdentityProvider:
    """Whoever runs a company's logins: for a person's ID token it states that they may use a server (token exchange)."""

    def __init__(self, token_endpoint: str, client: Client, id_token: Callable[[], str]) -> None:
        self._token_endpoint = token_endpoint
        self._client = client
        self._id_token = id_token

    async def __call__(self, wanted: Wanted) -> str:
        fields = {
            "grant_type": _EXCHANGE,
            "requested_token_type": _FOR_ANOTHER,
            "subject_token": self._id_token(),
            "subject_token_type": _ID_TOKEN,
            "audience": wanted.server.issuer,
            "resource": wanted.resource,
        }
        if wanted.scopes:
            fields["scope"] = " ".join(wanted.scopes)
        # It is named by our own configuration: what the server is has no say in where it may be.
        fetcher, endpoint = wanted.fetcher.at(self._token_endpoint), self._token_endpoint
        token = await ask_token(fetcher, endpoint, endpoint, self._client, fields, wanted.now, kinds=("n_a",))
        return token.access_token
