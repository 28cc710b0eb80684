"""The tokens for one server: used while they are good, renewed before they end, asked for again when they are refused.

Of many requests that are refused at once, one sees to it and the others wait for what it gets. Of many processes too: the
grant is renewed under the lock of the store, by whoever comes first.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping

from msgspec.structs import replace

from kumihimo.wire.client.authorization import addresses, possession
from kumihimo.wire.client.authorization.challenge import Challenge, challenge_of
from kumihimo.wire.client.authorization.client import Client
from kumihimo.wire.client.authorization.discovery import find_resource, find_server
from kumihimo.wire.client.authorization.errors import AuthorizationFailed, LoginNeeded, TokenRefused
from kumihimo.wire.client.authorization.fetching import Fetcher
from kumihimo.wire.client.authorization.grant import Grant
from kumihimo.wire.client.authorization.login import Login
from kumihimo.wire.client.authorization.metadata import Found
from kumihimo.wire.client.authorization.scopes import union, wanted
from kumihimo.wire.client.authorization.store import Store
from kumihimo.wire.client.authorization.token_endpoint import renew
from kumihimo.wire.client.authorization.way import Wanted, Way
from kumihimo.wire.client.errors import ClientError, ConnectionFailed

# Nothing that a server would act on; one that wants a login refuses it like anything else.
_KNOCK = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_ACCEPT = "application/json, text/event-stream"


class OAuth:
    """An `Authorization`. Without a way of its own it renews what a login elsewhere has put into the store."""

    def __init__(
        self,
        url: str,
        store: Store,
        way: Way | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        fetcher: Fetcher | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._url = url
        self._store = store
        self._way = way or Login()
        self._fetcher = fetcher or Fetcher(url, tls)
        self._now = now
        self._lock = asyncio.Lock()
        self._failure: ClientError | None = None
        self._grant: Grant | None = None
        self._loaded = False
        # Where it was last seen that a token may go; and whether there is such a place at all.
        self._checked = ""
        self._safe = addresses.may(url, url)
        self._renewing: asyncio.Task[bool] | None = None
        # The last token that did not come by renewing another.
        self._first: str | None = None
        # What the server wants to see in the next proof that a token is ours.
        self._nonce: str | None = None
        # What was asked for already: to ask for the same again would get the same.
        self._asked: set[frozenset[str]] = set()

    async def token(self, url: str) -> str | None:
        if not self._safe:
            # It may want none: whether that is so, it says itself.
            return None
        self._check(url)
        if not self._loaded or (self._grant is not None and self._grant.ends_soon(self._now())):
            async with self._alone():
                await self._prepare()
        return None if self._grant is None else self._grant.access_token

    def lines(self, token: str, method: str, url: str) -> bytes:
        # Where another token has come meanwhile the server refuses this one, and it is sent again with that.
        key = self._grant.key if self._grant is not None else None
        if key is None:
            return b"Authorization: Bearer %b\r\n" % token.encode()
        proof = possession.proven(key, method, url, self._now(), token=token, nonce=self._nonce)
        return b"Authorization: DPoP %b\r\nDPoP: %b\r\n" % (token.encode(), proof.encode())

    def learn(self, status: int, headers: Mapping[bytes, bytes]) -> bool:
        nonce = possession.nonce_in(headers)
        if nonce is None:
            return False
        self._nonce = nonce
        return status == 401 and possession.nonce_wanted(headers, headers.get(b"www-authenticate", b"")) is not None

    async def challenged(
        self, url: str, status: int, headers: Mapping[bytes, bytes], token: str | None, attempt: int
    ) -> bool:
        self._check(url)
        challenge = challenge_of(headers)
        async with self._alone():
            if not challenge.token or (status == 403 and challenge.error != "insufficient_scope"):
                return False
            if self._has_other(self._grant, token) or self._has_other(self._load(), token):
                return True
            if status == 403:
                return await self._step_up(challenge)
            return await self._get_in(challenge, token, attempt)

    async def login(self) -> Grant:
        """A new grant, whatever there is already."""
        self._check(self._url)
        refusal = await self._fetcher.post_json(self._url, _KNOCK, accept=_ACCEPT)
        challenge = challenge_of(refusal.headers) if refusal.status == 401 else Challenge()
        async with self._alone():
            self._load()
            found = await find_resource(self._fetcher, self._url, challenge)
            if refusal.status != 401 and found.own:
                raise AuthorizationFailed("the server asks for no login", status=refusal.status)
            return await self._obtain(found, challenge)

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        """One after the other. What went wrong for one has gone wrong for all who have waited for it: nobody is asked a
        second time what they did not answer, or refused."""
        seen = self._failure
        async with self._lock:
            if self._failure is not seen and self._failure is not None:
                raise self._failure
            try:
                yield
            except LoginNeeded:
                raise
            except ClientError as error:
                self._failure = error
                raise

    def _check(self, url: str) -> None:
        """A token is for the origin that it was given for, and goes there by https or not at all."""
        if url == self._checked:
            return
        if addresses.origin(url) != addresses.origin(self._url):
            raise AuthorizationFailed(f"the token for {addresses.base(self._url)} is not for {addresses.base(url)}")
        addresses.check(url, self._url)
        self._checked = url

    def _load(self) -> Grant | None:
        """What is kept now, of ours: whoever was logged out meanwhile has nothing any more."""
        grant = self._store.load(self._url)
        given = self._way.client
        same = grant is not None and (given is None or given.id == grant.client.id)
        self._grant, self._loaded = grant if same else None, True
        return self._grant

    def _has_other(self, grant: Grant | None, token: str | None) -> bool:
        """Whether somebody has got another token meanwhile."""
        return grant is not None and grant.access_token != token

    async def _prepare(self) -> None:
        """The grant from the store; renewed where it ends soon."""
        grant = self._load() if not self._loaded else self._grant
        if grant is None or grant.refresh_token is None or not grant.ends_soon(self._now()):
            return
        try:
            await self._renew(grant)
        except ConnectionFailed:
            if grant.ended(self._now()):
                raise

    async def _get_in(self, challenge: Challenge, token: str | None, attempt: int) -> bool:
        """After a 401: renew the token; where that does not help, get one by the way that there is, once."""
        if attempt and token is not None and token == self._first:
            return False
        grant = self._grant
        renewable = grant is not None and grant.refresh_token is not None and not attempt
        if not renewable and not self._way.open:
            raise LoginNeeded
        found = await find_resource(self._fetcher, self._url, challenge)
        if grant is not None and renewable and _trusts(found, grant.issuer) and await self._renew(grant):
            return True
        if not self._way.open:
            raise LoginNeeded("the login has ended, the server wants another")
        await self._obtain(found, challenge)
        return True

    async def _step_up(self, challenge: Challenge) -> bool:
        """After a 403: a token for more, unless just that was asked for before."""
        grant = self._grant
        had = grant.scopes if grant is not None else ()
        if not challenge.scopes or frozenset(union(had, challenge.scopes)) in self._asked:
            return False
        if not self._way.open:
            await self._note_missing(challenge.scopes)
            raise LoginNeeded("the server wants another login", status=403, scopes=challenge.scopes)
        await self._obtain(await find_resource(self._fetcher, self._url, challenge), challenge)
        return True

    async def _obtain(self, found: Found, challenge: Challenge) -> Grant:
        known, way = self._grant, self._way
        server = await find_server(self._fetcher, found, way.client.issuer if way.client is not None else None)
        same = known is not None and addresses.same_issuer(known.issuer, server.issuer)
        scopes = wanted(way.scopes, challenge, found, known if same else None)
        self._asked.add(frozenset(scopes))
        key = possession.key_for(server, known.key if known is not None and same else None, needed=challenge.bound)
        grant = await way.obtain(Wanted(server, found.resource, scopes, self._fetcher, self._now(), known, key))
        async with self._store.locked(self._url):
            self._keep(grant)
        self._first = grant.access_token
        self._asked.add(frozenset(grant.scopes))
        return grant

    async def _renew(self, before: Grant) -> bool:
        """By the refresh token. False where the authorization server does not take it any more."""
        # Whoever stops waiting must not lose what takes the place of the old refresh token.
        self._renewing = asyncio.get_running_loop().create_task(self._renew_alone(before))
        self._renewing.add_done_callback(lambda task: None if task.cancelled() else task.exception())
        return await asyncio.shield(self._renewing)

    async def _renew_alone(self, before: Grant) -> bool:
        async with self._store.locked(self._url):
            grant = self._load()
            if grant is None or grant.refresh_token is None:
                return False
            if grant.access_token != before.access_token:
                # Another process was first.
                return True
            try:
                renewed = await renew(self._fetcher, grant, self._proving(grant.client), self._now())
            except TokenRefused as refused:
                if refused.code == "invalid_grant":
                    self._keep(replace(grant, refresh_token=None))
                return False
            self._keep(renewed)
        return True

    async def _note_missing(self, scopes: tuple[str, ...]) -> None:
        """For the person who logs in next."""
        async with self._store.locked(self._url):
            grant = self._load()
            if grant is not None:
                self._keep(replace(grant, missing=union(grant.missing, scopes)))

    def _keep(self, grant: Grant) -> None:
        """What was configured is not written down a second time."""
        given = self._way.client
        if given is not None and given.id == grant.client.id:
            grant = replace(grant, client=replace(grant.client, secret=None, key=None))
        self._store.save(self._url, grant)
        self._grant, self._loaded = grant, True

    def _proving(self, client: Client) -> Client:
        given = self._way.client
        return client if given is None else replace(client, secret=given.secret, key=given.key)


def _trusts(found: Found, issuer: str) -> bool:
    """Whether the server still takes tokens from there."""
    return found.own or any(addresses.same_issuer(one, issuer) for one in found.issuers)
