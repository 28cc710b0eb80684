"""A resource that wants tokens and an authorization server that gives them, both strict; and a person who agrees."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from kumihimo.wire.client.authorization.fetching import Fetcher
from kumihimo.wire.client.authorization.login import Login
from kumihimo.wire.client.authorization.oauth import OAuth
from kumihimo.wire.client.authorization.store import MemoryStore, Store
from kumihimo.wire.client.authorization.way import Way
from kumihimo.wire.client.targets import Url
from tests.wire.client.authorization.auth_site import Answer, Asked, Site, json_answer

METADATA = "/.well-known/oauth-authorization-server"
PRM = "/.well-known/oauth-protected-resource/mcp"


class Giver:
    """An authorization server. Codes and refresh tokens are good once; `said` is put over what it says of itself."""

    def __init__(self) -> None:
        self.site = Site()
        self.said: dict[str, Any] = {}
        self.valid: dict[str, set[str]] = {}
        self.refreshes = 0
        self.expires_in: object = 3600
        self.rotates = True
        # What the page sends the person back with, beside the code and the state.
        self.back: dict[str, str | None] = {}
        self.registered: dict[str, Any] = {"client_id": "registered"}
        self._codes: dict[str, dict[str, str]] = {}
        self._refresh: dict[str, set[str]] = {}
        self._count = 0
        self.site.routes |= {
            METADATA: lambda _: json_answer(self.metadata()),
            "/authorize": self._authorize,
            "/token": self._token,
            "/register": lambda _: json_answer(self.registered, 201),
        }

    def metadata(self) -> dict[str, Any]:
        url = self.site.url
        said = {
            "issuer": url, "authorization_endpoint": f"{url}/authorize", "token_endpoint": f"{url}/token",
            "registration_endpoint": f"{url}/register", "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"], "response_types_supported": ["code"],
        }  # fmt: skip
        return {name: value for name, value in {**said, **self.said}.items() if value is not None}

    def issue(self, scopes: set[str] | None = None, *, refresh: bool = True) -> dict[str, Any]:
        """A token, and with it one to renew it; never the same again."""
        self._count += 1
        access, again = f"access-{self._count}", f"refresh-{self._count}"
        self.valid[access] = scopes or set()
        answer = {"access_token": access, "token_type": "Bearer", "expires_in": self.expires_in}
        if refresh:
            self._refresh[again] = self.valid[access]
            answer["refresh_token"] = again
        return {name: value for name, value in answer.items() if value is not None}

    def revoke_all(self) -> None:
        """Tokens end; what renews them does not."""
        self.valid.clear()

    def _authorize(self, asked: Asked) -> Answer:
        self._count += 1
        code = f"code-{self._count}"
        self._codes[code] = asked.query
        back = {"code": code, "state": asked.query["state"], **self.back}
        back = {name: value for name, value in back.items() if value is not None}
        return Answer(302, headers={"Location": f"{asked.query['redirect_uri']}?{urlencode(back)}"})

    def _token(self, asked: Asked) -> Answer:
        form = asked.form
        match form["grant_type"]:
            case "authorization_code":
                page = self._codes.pop(form["code"], None)
                verifier = hashlib.sha256(form["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
                if page is None or page["code_challenge"] != challenge or page["redirect_uri"] != form["redirect_uri"]:
                    return json_answer({"error": "invalid_grant"}, 400)
                return json_answer(self.issue(set(page.get("scope", "").split())))
            case "refresh_token":
                self.refreshes += 1
                scopes = self._refresh.pop(form["refresh_token"], None)
                if scopes is None:
                    return json_answer({"error": "invalid_grant", "error_description": "used before"}, 400)
                if not self.rotates:
                    self._refresh[form["refresh_token"]] = scopes
                return json_answer(self.issue(scopes, refresh=self.rotates))
            case _:
                return json_answer(self.issue(set(form.get("scope", "").split()), refresh=False))


class Guarded:
    """A server of 2025-11-25 that lets nobody in without a token of `giver`, and calls no tool without `needs`."""

    def __init__(self, giver: Giver) -> None:
        self.giver = giver
        self.site = Site()
        self.prm: dict[str, Any] | None = {}
        self.challenge = 'Bearer resource_metadata="{url}' + PRM + '"'
        self.needs: set[str] = set()
        self.calls = 0
        self.refusals = 0
        self.site.routes |= {"/mcp": self._mcp, PRM: self._say}

    @property
    def url(self) -> str:
        return f"{self.site.url}/mcp"

    def _say(self, _: Asked) -> Answer:
        if self.prm is None:
            return Answer(404)
        return json_answer({"resource": self.url, "authorization_servers": [self.giver.site.url], **self.prm})

    def _mcp(self, asked: Asked) -> Answer:
        method = asked.value.get("method", "") if asked.body else "listen"
        scopes = self.giver.valid.get(asked.token or "")
        if scopes is None:
            self.refusals += 1
            return json_answer({"error": "no"}, 401, WWW_Authenticate=self.challenge.format(url=self.site.url))
        if method == "tools/call" and not self.needs <= scopes:
            self.refusals += 1
            more = f'Bearer error="insufficient_scope", scope="{" ".join(sorted(self.needs))}"'
            return json_answer({"error": "more"}, 403, WWW_Authenticate=more)
        if method == "initialize":
            info = {"name": "guarded", "version": "1"}
            fields = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            return json_answer({"jsonrpc": "2.0", "id": asked.value["id"], "result": fields})
        if method == "tools/list":
            tools = [{"name": "any", "description": "Does it", "inputSchema": {"type": "object"}}]
            return json_answer({"jsonrpc": "2.0", "id": asked.value["id"], "result": {"tools": tools}})
        if method == "tools/call":
            self.calls += 1
            content = [{"type": "text", "text": "done"}]
            return json_answer({"jsonrpc": "2.0", "id": asked.value["id"], "result": {"content": content}})
        return Answer(202 if method.startswith("notifications/") else 400)


class Person:
    """Opens the page that they are shown, as a browser would, and agrees. `pages` has what they saw."""

    redirect_uri = "http://127.0.0.1:9/callback"

    def __init__(self) -> None:
        self.pages: list[dict[str, str]] = []

    async def open_page(self, url: str) -> Mapping[str, str]:
        self.pages.append(dict(parse_qsl(urlsplit(url).query)))
        answer = await Fetcher(url).get(url)
        return dict(parse_qsl(urlsplit(answer.headers[b"location"].decode()).query))

    @contextlib.asynccontextmanager
    async def __call__(self) -> AsyncIterator[Person]:
        yield self


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class World:
    """All of them together, and what a client needs to come in."""

    def __init__(self) -> None:
        self.giver = Giver()
        self.server = Guarded(self.giver)
        self.person = Person()
        self.clock = Clock()
        self.store: Store = MemoryStore()

    @property
    def url(self) -> str:
        return self.server.url

    def oauth(self, way: Way | None = None, *, fetcher: Fetcher | None = None, **options: Any) -> OAuth:
        """With the person there, unless there is another way."""
        way = way or Login(self.person, **options)
        return OAuth(self.url, self.store, way, now=self.clock, fetcher=fetcher)

    def alone(self) -> OAuth:
        """As the hub has it: nobody is there to log in."""
        return self.oauth(Login())

    def target(self, oauth: OAuth | None = None, **options: Any) -> Url:
        return Url(url=self.url, authorization=oauth or self.oauth(), **options)

    def everything_told(self, site: Site) -> str:
        """All that a site has ever been told."""
        return json.dumps([[one.path, one.query, one.headers, one.body.decode()] for one in site.asked])


@contextlib.asynccontextmanager
async def world(prepare: Callable[[World], object] | None = None) -> AsyncIterator[World]:
    made = World()
    async with made.giver.site.listening(), made.server.site.listening():
        if prepare is not None:
            prepare(made)
        yield made


REFUSED = {b"www-authenticate": b"Bearer"}


async def refused(oauth: OAuth, url: str, token: str | None, *, status: int = 401, attempt: int = 0) -> bool:
    """What becomes of a request that was refused without a word of explanation."""
    return await oauth.challenged(url, status, REFUSED, token, attempt)
