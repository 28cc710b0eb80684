"""The judge's scenarios about authorization: a client that logs in, with pages that send it on by themselves.

`run` is for every scenario whose name begins with `auth/`. Whoever runs it gives the URL, the name and the context that the
judge puts into the environment.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kumihimo.wire.client.authorization.client import Client, PrivateKey
from kumihimo.wire.client.authorization.client_credentials import ClientCredentials
from kumihimo.wire.client.authorization.fetching import Fetcher
from kumihimo.wire.client.authorization.jwt_bearer import IdentityProvider, JwtBearer
from kumihimo.wire.client.authorization.login import Login
from kumihimo.wire.client.authorization.oauth import OAuth
from kumihimo.wire.client.authorization.store import MemoryStore
from kumihimo.wire.client.authorization.way import Wanted, Way
from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.handshake import Introduction
from kumihimo.wire.client.targets import Url

# The judge knows it: it stands for a document that would be on a website of ours.
DOCUMENT = "https://conformance-test.local/client-metadata.json"


class Robot:
    """A browser whose person agrees to everything at once."""

    redirect_uri = "http://localhost:3000/callback"

    async def open_page(self, url: str) -> Mapping[str, str]:
        fetched = await Fetcher(url).get(url)
        return dict(parse_qsl(urlsplit(fetched.headers[b"location"].decode()).query))


@contextlib.asynccontextmanager
async def robot() -> AsyncIterator[Robot]:
    yield Robot()


def way_for(scenario: str, context: Mapping[str, Any]) -> Way:
    """How the client of this scenario comes by its token."""
    client = Client(id=context["client_id"], secret=context.get("client_secret")) if "client_id" in context else None
    match scenario.removeprefix("auth/"), client:
        case "client-credentials-jwt", Client():
            key = PrivateKey(context["private_key_pem"], context["signing_algorithm"])
            return ClientCredentials(Client(id=client.id, key=key))
        case "client-credentials-basic", Client():
            return ClientCredentials(client)
        case (("cross-app-access-complete-flow" | "enterprise-managed-authorization"), Client()):
            us = Client(id=context["idp_client_id"], method="none")
            provider = IdentityProvider(context["idp_token_endpoint"], us, lambda: context["idp_id_token"])
            return JwtBearer(provider, client)
        case "wif-jwt-bearer", Client():

            async def statement(_: Wanted) -> str:
                return context["valid_jwt"]

            return JwtBearer(statement, client)
        case _:
            return Login(robot, client=client, document=DOCUMENT)


async def run(url: str, scenario: str, context: Mapping[str, Any], introduction: Introduction) -> None:
    """List the tools and call the first one. ClientError where the scenario is one that must not end well."""
    authorization = OAuth(url, MemoryStore(), way_for(scenario, context))
    async with await connect(Url(url=url, authorization=authorization), introduction) as session:
        for tool in await session.list_tools():
            await session.call_tool(tool["name"])
