"""A program that has a token of its own: nobody is asked."""

from __future__ import annotations

from kumihimo.wire.client.authorization.client import Client, with_method
from kumihimo.wire.client.authorization.grant import Grant
from kumihimo.wire.client.authorization.registration import belonging
from kumihimo.wire.client.authorization.way import Wanted


class ClientCredentials:
    open = True

    def __init__(self, client: Client, *, scopes: tuple[str, ...] = ()) -> None:
        self.client: Client | None = client
        self.scopes = scopes
        self._given = client

    async def obtain(self, wanted: Wanted) -> Grant:
        known = wanted.known.client if wanted.known is not None else None
        client = with_method(belonging(self._given, wanted.server, known), wanted.server)
        scope = {"scope": " ".join(wanted.scopes)} if wanted.scopes else {}
        token = await wanted.ask(client, {"grant_type": "client_credentials", **scope})
        return wanted.granted(client, token, wanted.scopes)
