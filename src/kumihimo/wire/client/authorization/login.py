"""A person agrees in a browser, and we get a code for a token (the authorization code flow, always with PKCE)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from urllib.parse import urlencode

from msgspec import Struct

from kumihimo.wire.client.authorization.client import Client
from kumihimo.wire.client.authorization.errors import AuthorizationFailed, LoginNeeded, TokenRefused, told
from kumihimo.wire.client.authorization.grant import Grant
from kumihimo.wire.client.authorization.metadata import ServerMetadata
from kumihimo.wire.client.authorization.registration import client_for
from kumihimo.wire.client.authorization.scopes import OFFLINE, lasting
from kumihimo.wire.client.authorization.way import Wanted


class Browser(Protocol):
    """Where a person sees pages. The authorization server sends them back to `redirect_uri`."""

    @property
    def redirect_uri(self) -> str: ...

    async def open_page(self, url: str) -> Mapping[str, str]:
        """Let the person see the page; what they come back with."""
        ...


OpenBrowser = Callable[[], AbstractAsyncContextManager[Browser]]


class _Visit(Struct, frozen=True):
    """What has to be the same when the person comes back."""

    state: str
    verifier: str

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


class Login:
    """`client` is one that was registered by hand, `document` the address of one that describes us; with neither we register
    ourselves. Without a browser tokens are renewed, but nobody can log in."""

    def __init__(
        self,
        browser: OpenBrowser | None = None,
        *,
        client: Client | None = None,
        document: str | None = None,
        scopes: tuple[str, ...] = (),
    ) -> None:
        self.client = client
        self.scopes = scopes
        self._browser = browser
        self._document = document

    @property
    def open(self) -> bool:
        return self._browser is not None

    async def obtain(self, wanted: Wanted) -> Grant:
        if self._browser is None:
            raise LoginNeeded
        server = wanted.server
        endpoint = _checked_endpoint(server)
        scopes = lasting(wanted.scopes, server)
        visit = _Visit(secrets.token_urlsafe(32), secrets.token_urlsafe(48))
        async with self._browser() as browser:
            client = await client_for(
                wanted.fetcher,
                server,
                browser.redirect_uri,
                given=self.client,
                document=self._document,
                known=wanted.known.client if wanted.known is not None else None,
            )
            page = _page(endpoint, client, visit, browser.redirect_uri, wanted.resource, scopes)
            code = _code(await browser.open_page(page), visit, server)
            fields = {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": browser.redirect_uri,
                "code_verifier": visit.verifier,
            }
            token = await wanted.ask(client, fields)
        return wanted.granted(client, token, scopes)


def _checked_endpoint(server: ServerMetadata) -> str:
    if server.authorization_endpoint is None:
        raise AuthorizationFailed(f"{told(server.issuer)} has no page to log in")
    # Without it a code that somebody steals is worth a token.
    if not server.assumed and "S256" not in (server.code_challenge_methods_supported or ()):
        raise AuthorizationFailed(
            f"{told(server.issuer)} does not support PKCE with S256, without which no login is safe"
        )
    return server.authorization_endpoint


def _page(
    endpoint: str, client: Client, visit: _Visit, redirect_uri: str, resource: str, scopes: tuple[str, ...]
) -> str:
    fields = {
        "response_type": "code",
        "client_id": client.id,
        "redirect_uri": redirect_uri,
        "state": visit.state,
        "code_challenge": visit.challenge,
        "code_challenge_method": "S256",
        "resource": resource,
    }
    if scopes:
        fields["scope"] = " ".join(scopes)
    if OFFLINE in scopes:
        # OpenID Connect gives it only to whom the person was asked for.
        fields["prompt"] = "consent"
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"


def _code(came: Mapping[str, str], visit: _Visit, server: ServerMetadata) -> str:
    """The code, if it is the answer to what we asked, from whom we asked. Nothing else of the answer is looked at before."""
    if not hmac.compare_digest(came.get("state", "").encode(), visit.state.encode()):
        raise AuthorizationFailed("what came back from the login is not the answer to it: the state is another")
    issuer = came.get("iss")
    if issuer is None and server.authorization_response_iss_parameter_supported:
        raise AuthorizationFailed("what came back from the login does not say who has sent it")
    if issuer is not None and issuer != server.issuer:
        raise AuthorizationFailed("what came back from the login is from another issuer")
    if "error" in came:
        raise TokenRefused(came["error"], came.get("error_description", ""))
    if not came.get("code"):
        raise AuthorizationFailed("what came back from the login has no code")
    return came["code"]
