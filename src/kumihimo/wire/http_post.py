"""POST: the messages of clients over HTTP, of both eras."""

from collections.abc import Coroutine
from typing import Any, Final

from msgspec import UNSET, Raw

from kumihimo.wire.dispatch import answer, gather_answers, handshake_peer, is_stateless, stateless_peer
from kumihimo.wire.errors import (
    METHOD_NOT_FOUND,
    InternalError,
    InvalidRequest,
    RpcError,
    UnsupportedVersion,
)
from kumihimo.wire.http_call import Call, Watch, stateless_status
from kumihimo.wire.http_headers import MirrorCheck, check_routing, check_version
from kumihimo.wire.http_held import HeldCall
from kumihimo.wire.http_quick import MOST_CALLS
from kumihimo.wire.http_respond import Receive, Send, refuse, respond, respond_json
from kumihimo.wire.jsonrpc import (
    Message,
    Undecodable,
    decode,
    decode_batch,
    encode_answer,
    encode_failure,
    encode_id,
    is_batch,
)
from kumihimo.wire.peer import Peer
from kumihimo.wire.revision import ASSUMED_OVER_HTTP, REVISIONS, STATELESS
from kumihimo.wire.server import Server
from kumihimo.wire.session import Sessions
from kumihimo.wire.sse import Connection, Stream, Streams

_STATELESS_HEADER: Final = STATELESS.name.encode()


class _TooLarge(Exception):
    """The body has more bytes than are read."""


class _Gone(Exception):
    """The client hung up before it had sent its body."""


class Post:
    """Serves POST requests; each is one message, or in 2025-03-26 a batch of them."""

    def __init__(
        self,
        server: Server,
        sessions: Sessions,
        streams: Streams,
        *,
        most_body_bytes: int,
        keep_alive_seconds: float,
        resume_seconds: float,
    ) -> None:
        self.server = server
        self.sessions = sessions
        self._streams = streams
        self.most_body_bytes = most_body_bytes
        self._keep_alive_seconds = keep_alive_seconds
        self._resume_seconds = resume_seconds
        self._mirror = MirrorCheck()
        self.watch = Watch()
        self.running: set[Call] = set()

    async def serve(self, headers: dict[bytes, bytes], caller: Any, receive: Receive, send: Send) -> None:
        refusal = self.refusal_of(headers)
        if refusal is not None:
            await refuse(send, *refusal)
            return
        try:
            body = await self._read(receive)
        except _TooLarge:
            await refuse(send, 413, f"the body has more than {self.most_body_bytes} bytes")
            return
        except _Gone:
            return
        try:
            message = decode(body)
        except Undecodable as undecodable:
            if is_batch(body):
                await self._serve_batch(headers, caller, body, receive, send)
            else:
                await self._serve_undecodable(headers, undecodable, send)
            return
        version = headers.get(b"mcp-protocol-version")
        if is_stateless(message) or version == _STATELESS_HEADER:
            await self._serve_stateless(headers, caller, message, body, receive, send)
        elif version is not None and version.decode("latin-1") not in REVISIONS:
            failure = encode_failure(_identity(message), UnsupportedVersion(version.decode("latin-1")))
            await respond_json(send, 400, failure)
        elif message.method == "initialize":
            await self._initialize(caller, message, send)
        else:
            await self._serve_session(headers, caller, message, body, receive, send)

    def held(self) -> list[HeldCall]:
        """Calls that no task waits for."""
        return [call for call in self.watch.all() if isinstance(call, HeldCall)]

    def refusal_of(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        """Why a request is not served, whatever its message is; with its status."""
        if not headers.get(b"content-type", b"").lower().startswith(b"application/json"):
            return 415, "the body is to be application/json"
        accept = headers.get(b"accept", b"*/*")
        if b"json" not in accept and b"event-stream" not in accept and b"*/*" not in accept:
            return 406, "accept application/json and text/event-stream"
        return None

    async def _read(self, receive: Receive) -> bytes:
        message = await receive()
        body: bytes = message.get("body", b"")
        if message["type"] == "http.disconnect":
            raise _Gone
        if not message.get("more_body", False):
            if len(body) > self.most_body_bytes:
                raise _TooLarge
            return body
        chunks = [body]
        size = len(body)
        while message.get("more_body", False):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self.most_body_bytes:
                raise _TooLarge
        return b"".join(chunks)

    async def _serve_undecodable(self, headers: dict[bytes, bytes], undecodable: Undecodable, send: Send) -> None:
        version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
        revision = REVISIONS.get(version, ASSUMED_OVER_HTTP)
        null_id = revision.handshake and not revision.priming
        status = 404 if undecodable.error.code == METHOD_NOT_FOUND and not revision.handshake else 400
        failure = encode_failure(undecodable.request_id, undecodable.error, null_id=null_id)
        await respond_json(send, status, failure)

    async def _serve_stateless(
        self,
        headers: dict[bytes, bytes],
        caller: Any,
        message: Message,
        body: bytes,
        receive: Receive,
        send: Send,
    ) -> None:
        if message.method is UNSET:
            await refuse(send, 400, "clients of this version send no responses")
            return
        if message.id is UNSET:
            await respond(send, 202)
            return
        try:
            peer = self.stateless_peer(headers, caller, message)
        except RpcError as error:
            status = 404 if error.code == METHOD_NOT_FOUND else 400
            await respond_json(send, status, encode_failure(_identity(message), error))
            return
        stream = self.stream(send, "", peer, headers)
        answered = answer(self.server, peer, stream, message, body)
        if isinstance(answered, bytes):
            await respond_json(send, stateless_status(answered), answered)
        else:
            await self.run(answered, stream, peer, _identity(message), receive, send)

    def stateless_peer(self, headers: dict[bytes, bytes], caller: Any, message: Message) -> Peer:
        """The client of a stateless request, whose headers must say what its body says. RpcError where they do not."""
        check_version(message, headers)
        peer = stateless_peer(self.server, caller, message)
        check_routing(message, headers)
        self._mirror.check(peer, message, headers)
        return peer

    def stream(self, send: Send, token: str, peer: Peer, headers: dict[bytes, bytes]) -> Stream:
        """Where an answer goes, and what comes before it. `token` is that of a session; empty where there is none."""
        silent = self.takes_json_alone(headers)
        return Stream(Connection(send), token, priming=bool(token) and peer.revision.priming, silent=silent)

    @staticmethod
    def takes_json_alone(headers: dict[bytes, bytes]) -> bool:
        accept = headers.get(b"accept", b"*/*")
        return b"event-stream" not in accept and b"*/*" not in accept

    async def _initialize(self, caller: Any, message: Message, send: Send) -> None:
        if message.id is UNSET:
            await respond(send, 202)
            return
        try:
            peer = handshake_peer(self.server, caller, message)
        except RpcError as error:
            await respond_json(send, 200, encode_failure(_identity(message), error))
            return
        result = self.server.initialize_result(peer.catalog, peer.revision)
        session = ((b"mcp-session-id", self.sessions.begin(peer).encode()),)
        await respond_json(send, 200, encode_answer(encode_id(message.id or 0), result), session)

    async def _find_session(
        self, headers: dict[bytes, bytes], caller: Any, request_id: int | str | None, send: Send
    ) -> tuple[str, Peer] | None:
        token = headers.get(b"mcp-session-id", b"").decode("latin-1")
        if not token:
            error = InvalidRequest("send `initialize` first, and then its Mcp-Session-Id with every request")
            await respond_json(send, 400, encode_failure(request_id, error))
            return None
        peer = self.sessions.find(token, caller)
        if peer is None:
            error = InvalidRequest("unknown session: send `initialize` again")
            await respond_json(send, 404, encode_failure(request_id, error))
            return None
        return token, peer

    async def _serve_session(
        self,
        headers: dict[bytes, bytes],
        caller: Any,
        message: Message,
        body: bytes,
        receive: Receive,
        send: Send,
    ) -> None:
        found = await self._find_session(headers, caller, _identity(message), send)
        if found is None:
            return
        token, peer = found
        if message.method is UNSET and peer.place != self.server.place and message.id not in peer.memory.questions:
            error = InvalidRequest(f"nobody here waits for this: the session was begun at {peer.place}, answer there")
            await respond_json(send, 409, encode_failure(_identity(message), error))
            return
        if message.method is UNSET or message.id is UNSET:
            _take_unanswered(peer, message)
            await respond(send, 202)
            return
        stream = self.stream(send, token, peer, headers)
        answered = self._answer(peer, stream, message, body)
        if isinstance(answered, bytes):
            await respond_json(send, 200, answered)
        else:
            await self.run(answered, stream, peer, _identity(message), receive, send)

    def _answer(
        self, peer: Peer, stream: Stream, message: Message, body: bytes | Raw
    ) -> bytes | Coroutine[Any, Any, bytes]:
        calls = peer.memory.calls
        if message.id in calls:
            return encode_failure(_identity(message), InvalidRequest("a request with this id is under way"))
        if len(calls) >= MOST_CALLS:
            return encode_failure(_identity(message), InternalError("too many requests are under way"))
        return answer(self.server, peer, stream, message, body)

    async def _serve_batch(
        self, headers: dict[bytes, bytes], caller: Any, body: bytes, receive: Receive, send: Send
    ) -> None:
        found = await self._find_session(headers, caller, None, send)
        if found is None:
            return
        token, peer = found
        if not peer.revision.batches:
            await refuse(send, 400, f"{peer.revision.name} has no batches")
            return
        try:
            members = decode_batch(body)
        except Undecodable as undecodable:
            await respond_json(send, 400, encode_failure(None, undecodable.error))
            return
        stream = self.stream(send, token, peer, headers)
        answers: list[bytes] = []
        later: list[Coroutine[Any, Any, bytes]] = []
        for member in members:
            answered = self._serve_member(peer, stream, member)
            if isinstance(answered, bytes):
                answers.append(answered)
            elif answered is not None:
                later.append(answered)
        if later:
            await self.run(gather_answers(answers, later), stream, peer, None, receive, send)
        elif answers:
            await respond_json(send, 200, b"[%b]" % b",".join(answers))
        else:
            await respond(send, 202)

    def _serve_member(self, peer: Peer, stream: Stream, member: Raw) -> bytes | Coroutine[Any, Any, bytes] | None:
        try:
            message = decode(member)
        except Undecodable as undecodable:
            return encode_failure(undecodable.request_id, undecodable.error) if undecodable.answerable else None
        if message.method is UNSET or message.id is UNSET:
            _take_unanswered(peer, message)
            return None
        if message.method == "initialize":
            return encode_failure(_identity(message), InvalidRequest("initialize is not part of a batch"))
        return self._answer(peer, stream, message, member)

    async def run(
        self,
        coroutine: Coroutine[Any, Any, bytes],
        stream: Stream,
        peer: Peer,
        identity: int | str | None,
        receive: Receive,
        send: Send,
    ) -> None:
        """Let a call run, where a cancellation and the end of the server can reach it. A batch has no identity."""
        call = Call(
            stream,
            receive,
            self.watch,
            keep_alive_seconds=self._keep_alive_seconds,
            resume_seconds=self._resume_seconds,
        )
        calls = peer.memory.calls
        key = f"batch {id(call)}" if identity is None else identity
        calls[key] = call
        self.running.add(call)
        if stream.resumable:
            stream.on_start = self._streams.keep
        try:
            await call.answer(coroutine, send)
        finally:
            calls.pop(key, None)
            self.running.discard(call)


def _take_unanswered(peer: Peer, message: Message) -> None:
    """A response to a question of ours, or a notification."""
    if message.method is UNSET:
        peer.memory.hear_answer(message)
    elif message.method == "notifications/cancelled" and message.params is not None:
        request_id = message.params.request_id
        if request_id is not UNSET:
            peer.memory.cancel(request_id)


def _identity(message: Message) -> int | str | None:
    return message.id if isinstance(message.id, int | str) else None
