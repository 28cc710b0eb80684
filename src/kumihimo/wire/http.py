"""MCP over Streamable HTTP, as an ASGI application for one endpoint.

One request in, one answer out: JSON where the result is all there is to say, a stream of events where a call has
something to say before it, or takes long.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from kumihimo.wire.changes import RESOURCE_UPDATED, TASK, Change, change_params
from kumihimo.wire.http_post import Post
from kumihimo.wire.http_quick import Admitted, admit, begin
from kumihimo.wire.http_respond import Receive, Scope, Send, refuse, respond
from kumihimo.wire.jsonrpc import encode_notification
from kumihimo.wire.origin import LOOPBACK, Gate
from kumihimo.wire.peer import Memory
from kumihimo.wire.server import Server
from kumihimo.wire.session import Sessions
from kumihimo.wire.sse import Connection, Stream, Streams, encode_event
from kumihimo.wire.subscription import Inbox

if TYPE_CHECKING:
    from kumihimo.wire.serving.exchange import Exchange
    from kumihimo.wire.serving.head import Head

MOST_BODY_BYTES: Final = 16 * 1024 * 1024
SESSION_SECONDS: Final = 7 * 24 * 3600
KEEP_ALIVE_SECONDS: Final = 15.0
RESUME_SECONDS: Final = 60.0


class Refusal(Struct, frozen=True):
    """Returned by `authenticate` in place of a caller: the request is answered with this and nothing else."""

    status: int = 401
    message: str = "Unauthorized"
    headers: tuple[tuple[bytes, bytes], ...] = ((b"www-authenticate", b"Bearer"),)


Authenticate = Callable[[Scope], Any]


class HttpServer:
    """The ASGI application. Mount it where the endpoint is to be; paths are not looked at.

    `authenticate(scope)` returns the caller that handlers see, or a Refusal; it may be a coroutine function. Hosts
    and origins off the list are refused. `is_lasting(headers)` is whether who comes with the same headers later is the same
    caller without being asked again. A call that says nothing for `keep_alive_seconds` becomes a stream, so that
    nobody on the way hangs up; a stream of the older revisions whose client is gone waits `resume_seconds` for it.
    Call `close()` when the process is about to end: streams end, and calls are cancelled.
    """

    def __init__(
        self,
        server: Server,
        *,
        authenticate: Authenticate | None = None,
        is_lasting: Callable[[Mapping[bytes, bytes]], bool] = lambda _: False,
        allowed_hosts: Iterable[str] = LOOPBACK,
        allowed_origins: Iterable[str] = (),
        most_body_bytes: int = MOST_BODY_BYTES,
        session_seconds: int = SESSION_SECONDS,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
        resume_seconds: float = RESUME_SECONDS,
    ) -> None:
        self._server = server
        self._authenticate = authenticate
        self._is_lasting = is_lasting
        self._gate = Gate(allowed_hosts, allowed_origins)
        self._sessions = Sessions(server, session_seconds)
        self._streams = Streams()
        self._keep_alive_seconds = keep_alive_seconds
        self._listening: set[asyncio.Future[Any]] = set()
        self._post = Post(
            server,
            self._sessions,
            self._streams,
            most_body_bytes=most_body_bytes,
            keep_alive_seconds=keep_alive_seconds,
            resume_seconds=resume_seconds,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _lifespan(scope, receive, send, self.close)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if not self._gate.admits(headers.get(b"host"), headers.get(b"origin")):
            await refuse(send, 403, "this Host or Origin is not allowed")
            return
        caller: Any = None
        if self._authenticate is not None:
            caller = self._authenticate(scope)
            if hasattr(caller, "__await__"):
                caller = await cast("Awaitable[Any]", caller)
            if isinstance(caller, Refusal):
                await refuse(send, caller.status, caller.message, caller.headers)
                return
        method = scope["method"]
        if method == "POST":
            await self._post.serve(headers, caller, receive, send)
        elif method == "GET":
            await self._get(headers, caller, receive, send)
        elif method == "DELETE":
            await self._delete(headers, caller, send)
        else:
            await refuse(send, 405, "use POST", ((b"allow", b"POST, GET, DELETE"),))

    def begin(self, exchange: "Exchange") -> bool:
        """Whether a request is answered on a short way, without a task; else it is to be called as ever."""
        admitted = exchange.head.memo
        if type(admitted) is not Admitted or not self._sessions.goes_on(admitted.token, admitted.peer):
            admitted = self._admit(exchange.head)
        return admitted is not None and begin(self._post, admitted, exchange)

    def _admit(self, head: "Head") -> Admitted | None:
        """Who a request is from, where that is known at once. None for whatever is refused: the long way says why."""
        headers = dict(head.headers)
        if head.method != "POST" or not self._gate.admits(headers.get(b"host"), headers.get(b"origin")):
            return None
        caller = None if self._authenticate is None else self._authenticate(head.scope())
        if isinstance(caller, Coroutine):
            cast("Coroutine[Any, Any, Any]", caller).close()
            return None
        if isinstance(caller, Refusal):
            return None
        admitted = admit(self._post, headers, caller)
        if admitted is not None and self._is_lasting(headers):
            head.memo = admitted
        return admitted

    async def close(self) -> None:
        """End every stream and cancel every call, and wait until they are gone."""
        self._server.changes.closing = True
        calls = (*self._post.running, *self._post.held())
        for call in calls:
            call.cancel()
        for listener in tuple(self._listening):
            listener.cancel()
        await asyncio.gather(*(call.over() for call in calls), *self._listening, return_exceptions=True)

    async def _delete(self, headers: dict[bytes, bytes], caller: Any, send: Send) -> None:
        token = headers.get(b"mcp-session-id")
        if token is None:
            await refuse(send, 405, "there is no session to end", ((b"allow", b"POST"),))
        elif self._sessions.find(token.decode("latin-1"), caller) is None:
            await refuse(send, 404, "unknown session")
        else:
            self._sessions.end(token.decode("latin-1"))
            await respond(send, 204)

    async def _get(self, headers: dict[bytes, bytes], caller: Any, receive: Receive, send: Send) -> None:
        token = headers.get(b"mcp-session-id", b"").decode("latin-1")
        if not token:
            await refuse(send, 405, "a stream needs a session", ((b"allow", b"POST"),))
            return
        if b"text/event-stream" not in headers.get(b"accept", b"") and b"*/*" not in headers.get(b"accept", b""):
            await refuse(send, 406, "accept text/event-stream")
            return
        peer = self._sessions.find(token, caller)
        if peer is None:
            await refuse(send, 404, "unknown session")
            return
        connection = Connection(send)
        found = self._streams.find(headers.get(b"last-event-id", b"").decode("latin-1"), token)
        if found is None:
            serving = asyncio.ensure_future(self._tell_changes(peer.memory, connection))
        else:
            serving = asyncio.ensure_future(_take_up(*found, connection))
        self._listening.add(serving)
        try:
            await _first(serving, asyncio.ensure_future(self._watch(connection, receive)))
            await connection.end()
        finally:
            self._listening.discard(serving)

    async def _tell_changes(self, memory: Memory, connection: Connection) -> None:
        """Changes, to a client that listens with GET. The newest stream of a session gets them, and no other."""
        inbox = Inbox()

        def heard(change: Change) -> None:
            unknown = change.method == RESOURCE_UPDATED and change.uri not in memory.subscribed
            if change.method != TASK and not unknown:
                inbox.put(change)

        self._server.changes.listen(memory, heard)
        try:
            await connection.open()
            while True:
                for change in await inbox.take():
                    message = encode_notification(change.method, change_params(change))
                    await connection.write(encode_event(message))
        finally:
            self._server.changes.leave(memory, heard)

    async def _watch(self, connection: Connection, receive: Receive) -> None:
        """Ends when the client is gone; keeps the connection alive until then."""
        while True:
            try:
                async with asyncio.timeout(self._keep_alive_seconds):
                    message = await receive()
            except TimeoutError:
                await connection.write(b":\n\n")
                continue
            if message["type"] == "http.disconnect":
                return


async def _take_up(stream: Stream, last_seen: int, connection: Connection) -> None:
    """Carry the rest of a stream, from the event after `last_seen` on."""
    await connection.open()
    try:
        await stream.resume(connection, last_seen)
        await stream.finished()
    finally:
        stream.detach(connection)


async def _first(*waiting: asyncio.Future[Any]) -> None:
    """Wait for whichever is done first and cancel the rest."""
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _lifespan(
    scope: MutableMapping[str, Any], receive: Receive, send: Send, close: Callable[[], Awaitable[None]]
) -> None:
    if scope["type"] != "lifespan":
        raise RuntimeError(f"no {scope['type']} here")
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await close()
    await send({"type": "lifespan.shutdown.complete"})
