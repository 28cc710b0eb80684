"""What a way of coming by a first token has to do."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from kumihimo.wire.client.authorization.client import Client, PrivateKey
from kumihimo.wire.client.authorization.fetching import Fetcher
from kumihimo.wire.client.authorization.grant import Grant
from kumihimo.wire.client.authorization.metadata import ServerMetadata
from kumihimo.wire.client.authorization.token_endpoint import Token, ask_token


class Wanted(Struct, frozen=True):
    """What is to be got, from whom. `known` is the grant before, of the same authorization server or of another."""

    server: ServerMetadata
    resource: str
    scopes: tuple[str, ...]
    fetcher: Fetcher
    now: float
    known: Grant | None = None
    # What the token is to be bound to.
    key: PrivateKey | None = None

    async def ask(self, client: Client, fields: dict[str, str]) -> Token:
        """A token for the resource, at the token endpoint."""
        server = self.server
        fields = {**fields, "resource": self.resource}
        return await ask_token(
            self.fetcher, server.token_endpoint, server.issuer, client, fields, self.now, key=self.key
        )

    def granted(self, client: Client, token: Token, scopes: tuple[str, ...]) -> Grant:
        return Grant(
            access_token=token.access_token,
            issuer=self.server.issuer,
            token_endpoint=self.server.token_endpoint,
            client=client,
            resource=self.resource,
            scopes=scopes,
            refresh_token=token.refresh_token,
            key=token.bound_to(self.key),
        ).lasting(token.seconds, self.now)


class Way(Protocol):
    @property
    def client(self) -> Client | None:
        """Who we were configured to be. What is kept is good only for the same one."""
        ...

    @property
    def scopes(self) -> tuple[str, ...]:
        """What is asked for in any case."""
        ...

    @property
    def open(self) -> bool:
        """Whether it can be gone at all: not where it takes a person and none is there."""
        ...

    async def obtain(self, wanted: Wanted) -> Grant:
        """AuthorizationFailed where somebody says no."""
        ...
