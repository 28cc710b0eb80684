"""What is where: `/healthz`, `/mcp` and `/mcp/NAME[,NAME]` for toolsets, `/api/v1/…` for operations, `/openapi.json`,
`/metrics`, `/artifacts/…` for files of runs, `/ws` for what happens, and the dashboard."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from kumihimo import __version__
from kumihimo.domain.errors import InvalidValue, KumihimoError, StoreError
from kumihimo.domain.messages import render
from kumihimo.operations.operation import Caller
from kumihimo.services.board import Board
from kumihimo.surfaces.http.access import Access, Identity, asked
from kumihimo.surfaces.http.languages import language_of
from kumihimo.surfaces.http.statuses import status_of
from kumihimo.surfaces.live.broadcast import Broadcast
from kumihimo.surfaces.mcp.catalogs import Bench
from kumihimo.surfaces.mcp.door import Door
from kumihimo.surfaces.mcp.waiting import tasks_of
from kumihimo.surfaces.mcp.watching import watcher, watcher_with_hub
from kumihimo.toolsets.registry import DEFAULT, together
from kumihimo.toolsets.texts import words
from kumihimo.toolsets.toolset import Toolset
from kumihimo.wire.catalog import Catalog
from kumihimo.wire.http import HttpServer, Refusal
from kumihimo.wire.http_respond import respond_json
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.origin import LOOPBACK, Gate
from kumihimo.wire.peer import CatalogOf
from kumihimo.wire.revision import Revision
from kumihimo.wire.server import Server
from kumihimo.wire.serving.exchange import Exchange

if TYPE_CHECKING:
    from kumihimo.surfaces.http.api import Api
    from kumihimo.surfaces.http.artifacts import Files
    from kumihimo.surfaces.http.pages import Pages

_UPGRADE = b'{"error":{"code":"UpgradeRequired","message":"/ws is a WebSocket"}}'
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
        self._gate = Gate(self._hosts, ())
        self._api: Api | None = None
        self._pages: Pages | None = None
        self._files: Files | None = None
        self.broadcast = Broadcast(door)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path == "/mcp" or path.startswith("/mcp/"):
            # It looks at Host and Origin by itself, and answers in its own way.
            await self._mcp(path, scope, receive, send)
        elif not self._admits(scope["headers"]):
            await respond_json(send, 403, _FOREIGN)
        elif path == "/healthz":
            await respond_json(send, 200, b'{"status":"ok","version":"%b"}' % __version__.encode())
        elif path == "/ws":
            await respond_json(send, 426, _UPGRADE, ((b"upgrade", b"websocket"),))
        else:
            try:
                await self._elsewhere(path, scope, receive, send)
            except StoreError as error:
                # Who asks is not known, or what is asked for: the database is away.
                told = render(error, language_of(scope, self._door.language))
                body = msgspec.json.encode({"error": {"code": error.code, "message": told}})
                await respond_json(send, status_of(error), body)

    def begin(self, exchange: Exchange) -> bool:
        """Whether a request is answered on a short way; else it is called as ever."""
        path = exchange.head.path
        if path != "/mcp" and not path.startswith("/mcp/"):
            return False
        endpoint = self._endpoints.get(path[len("/mcp/") :])
        return endpoint is not None and endpoint.begin(exchange)

    def _admits(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Whether a request is for us by its name, and from no page of somebody else."""
        told = dict(headers)
        return self._gate.admits(told.get(b"host"), told.get(b"origin"))

    async def _elsewhere(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        if path.startswith("/api/") or path in ("/openapi.json", "/metrics"):
            await self._owners_own(path, scope, receive, send)
        elif path.startswith("/artifacts/"):
            await self._artifacts(path, scope, send)
        elif path in ("/", "/login", "/logout") or path.startswith("/assets/"):
            await self._page(path, scope, send)
        else:
            await respond_json(send, 404, b'{"error":"there is nothing here"}')

    async def _page(self, path: str, scope: Scope, send: Send) -> None:
        from kumihimo.surfaces.http.codes import Codes
        from kumihimo.surfaces.http.pages import Pages

        if self._pages is None:
            codes = Codes(self._door.settings.state_folder)
            self._pages = Pages(self._access.cookies, codes, self._door.language, self._board_key)
        if path == "/login":
            await self._pages.login(scope, send)
        elif path == "/logout":
            await self._pages.logout(scope, await self._access.cookie_names(scope), send)
        elif await self._access.owner_alone(scope) is not None:
            await self._pages.ask_for_login(scope, send)
        else:
            await self._pages.serve(path, scope, send)

    async def _board_key(self) -> bytes:
        return await self._door.elsewhere(self._access.board_key)

    async def _artifacts(self, path: str, scope: Scope, send: Send) -> None:
        from kumihimo.surfaces.http.artifacts import Files

        if self._files is None:
            self._files = Files(self._door, self._access)
        refusal = await self._files.admit(path, scope)
        if refusal is not None:
            await _refuse(refusal, send)
        else:
            await self._files.serve(path, scope, send)

    async def admit_watcher(self, path: str, scheme: str, headers: list[tuple[bytes, bytes]]) -> Refusal | None:
        """Who may watch: the owner, and nobody else."""
        if path.partition("?")[0] != "/ws":
            return Refusal(404, "there is nothing here", ())
        if not self._admits(headers):
            return Refusal(403, "this Host or Origin is not allowed", ())
        return await self._access.owner_alone({"headers": headers, "scheme": scheme})

    async def _owners_own(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """What nobody but the owner gets to see."""
        from kumihimo.surfaces.http.api import PREFIX, Api
        from kumihimo.surfaces.http.openapi import document

        refusal = await self._access.owner_alone(scope)
        if refusal is not None:
            await _refuse(refusal, send)
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
        server = Server(
            Implementation(name="kumihimo", version=__version__, title="Kumihimo"),
            self._catalogs(toolsets, exposing="hub" in names),
            tasks=tasks_of(self._door, names, self._caller),
            instructions=words("instructions", self._door.language),
            key=self._access.board_key(self._door.board),
            subject=_subject,
            place=self._access.host,
            watch=watcher_with_hub(self._door) if "hub" in names else watcher(self._door),
        )
        identify = partial(self._access.identify, toolsets=frozenset(names))
        made = self._endpoints[name] = HttpServer(
            server, authenticate=identify, is_lasting=self._access.is_owner, allowed_hosts=self._hosts
        )
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
                know = partial(self._door.know, self._caller, identity)
                at_hand = partial(self._door.desk_at_hand, self._caller, identity)
                own[key] = bench.catalog(Exposed(self._door, know, at_hand))
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
        await self.broadcast.close()
        for endpoint in tuple(self._endpoints.values()):
            await endpoint.close()
        await self._door.close_hubs()


async def _refuse(refusal: Refusal, send: Send) -> None:
    told = msgspec.json.encode({"error": {"code": "Refused", "message": refusal.message}})
    await respond_json(send, refusal.status, told, refusal.headers)


def _subject(identity: Identity) -> str:
    return identity.subject
