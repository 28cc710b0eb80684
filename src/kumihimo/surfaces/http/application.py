"""What is where: `/healthz`, `/mcp` and `/mcp/NAME[,NAME]` for toolsets, `/api/v1/…` for operations, `/openapi.json`,
`/metrics`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from kumihimo import __version__
from kumihimo.domain.errors import InvalidValue, KumihimoError
from kumihimo.operations.operation import Caller
from kumihimo.services.board import Board
from kumihimo.surfaces.http.access import Access, Identity, asked
from kumihimo.surfaces.mcp.catalogs import Bench
from kumihimo.surfaces.mcp.door import Door
from kumihimo.surfaces.mcp.waiting import tasks_of
from kumihimo.surfaces.mcp.watching import watcher
from kumihimo.toolsets.registry import DEFAULT, together
from kumihimo.toolsets.texts import words
from kumihimo.toolsets.toolset import Toolset
from kumihimo.wire.catalog import Catalog
from kumihimo.wire.http import HttpServer
from kumihimo.wire.http_respond import respond_json
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.origin import LOOPBACK, Gate
from kumihimo.wire.peer import CatalogOf
from kumihimo.wire.revision import Revision
from kumihimo.wire.server import Server

if TYPE_CHECKING:
    from kumihimo.surfaces.http.api import Api

_FOREIGN = b'{"error":{"code":"Refused","message":"this Host or Origin is not allowed"}}'
# Each has the tools of one caller as it was shown them; who comes again is shown them again.
_MOST_CATALOGS = 1024

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Application:
    """The ASGI application of one door."""

    def __init__(self, door: Door, owner_token: str, hosts: tuple[str, ...] = ()) -> None:
        self._door = door
        self._access = Access(door, owner_token)
        self._hosts = (*LOOPBACK, *hosts)
        self._endpoints: dict[str, HttpServer] = {}
        self._key: bytes | None = None
        self._gate = Gate(self._hosts, ())
        self._api: Api | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path: str = scope["path"]
        if path == "/healthz":
            await respond_json(send, 200, b'{"status":"ok","version":"%b"}' % __version__.encode())
        elif path == "/mcp" or path.startswith("/mcp/"):
            await self._mcp(path, scope, receive, send)
        elif path.startswith("/api/") or path in ("/openapi.json", "/metrics"):
            await self._owners_own(path, scope, receive, send)
        else:
            await respond_json(send, 404, b'{"error":"there is nothing here"}')

    async def _owners_own(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """What nobody but the owner gets to see."""
        from kumihimo.surfaces.http.api import PREFIX, Api
        from kumihimo.surfaces.http.openapi import document

        headers: dict[bytes, bytes] = dict(scope["headers"])
        if not self._gate.admits(headers.get(b"host"), headers.get(b"origin")):
            await respond_json(send, 403, _FOREIGN)
            return
        refusal = await self._access.owner_alone(scope)
        if refusal is not None:
            told = msgspec.json.encode({"error": {"code": "Refused", "message": refusal.message}})
            await respond_json(send, refusal.status, told, refusal.headers)
        elif path == "/openapi.json":
            await respond_json(send, 200, document())
        elif path == "/metrics":
            await self._metrics(send)
        elif self._api is None:
            self._api = Api(self._door)
            await self._owners_own(path, scope, receive, send)
        else:
            caller = self._caller(self._door.board, Identity(None, asked(scope, "project")))
            await self._api.serve(path.removeprefix(PREFIX), scope, caller, receive, send)

    async def _metrics(self, send: Send) -> None:
        from kumihimo.surfaces.http.metrics import CONTENT_TYPE, metrics

        told = await metrics(self._door, self._door.owner())
        headers = [(b"content-type", CONTENT_TYPE), (b"content-length", b"%d" % len(told))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": told})

    async def _mcp(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        name = path.removeprefix("/mcp").strip("/")
        try:
            endpoint = self._endpoints.get(name) or self._endpoint(name)
        except KumihimoError:
            await respond_json(send, 404, b'{"error":"there is no such toolset"}')
            return
        await endpoint(scope, receive, send)

    def _endpoint(self, name: str) -> HttpServer:
        names = sorted(name.split(",")) if name else list(DEFAULT)
        if "resident" in names:
            # Bound to a process and its agent: there is none behind a URL.
            raise InvalidValue("toolset", "not_a_choice", value="resident", choices="")
        toolsets = together(names)
        if self._key is None:
            self._key = self._door.board.tokens.signing_key()
        server = Server(
            Implementation(name="kumihimo", version=__version__, title="Kumihimo"),
            self._catalogs(toolsets, exposing="hub" in names),
            tasks=tasks_of(self._door, names, self._caller),
            instructions=words("instructions", self._door.language),
            key=self._key,
            subject=_subject,
            watch=watcher(self._door),
        )
        identify = partial(self._access.identify, toolsets=frozenset(names))
        made = self._endpoints[name] = HttpServer(server, authenticate=identify, allowed_hosts=self._hosts)
        return made

    def _catalogs(self, toolsets: list[Toolset], *, exposing: bool) -> Catalog | CatalogOf:
        """One catalog for all, and, where somebody wants to see the tools of other servers among ours, one for each."""
        bench = Bench(self._door, toolsets, self._caller)
        shared = bench.catalog()
        if not exposing:
            return shared
        from kumihimo.surfaces.mcp.exposing import Exposed

        own: dict[tuple[str, str | None], Catalog] = {}

        def find(identity: Identity, revision: Revision) -> Catalog:  # noqa: ARG001 - the signature of a finder
            if not identity.expose:
                return shared
            key = (identity.subject, identity.project)
            if key not in own:
                if len(own) >= _MOST_CATALOGS:
                    own.clear()
                own[key] = bench.catalog(Exposed(self._door, partial(self._door.know, self._caller, identity)))
            return own[key]

        return find

    def _caller(self, board: Board, identity: Identity) -> Caller:
        """Who calls, where no session token says so."""
        token = identity.token
        if token is None:
            return self._door.owner(identity.project) if identity.project else Caller("owner", self._door.anywhere)
        if token.kind == "run" and token.execution_id is not None:
            return self._door.caller_of_run(board, token)
        pair = (token.agent_id, token.project_id) if token.agent_id and token.project_id else None
        return Caller(token.kind, self._door.anywhere, only=pair, instance_id=token.instance_id)

    async def close(self) -> None:
        """End every stream and cancel every call."""
        for endpoint in tuple(self._endpoints.values()):
            await endpoint.close()
        await self._door.close_hubs()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})


def _subject(identity: Identity) -> str:
    return identity.subject
