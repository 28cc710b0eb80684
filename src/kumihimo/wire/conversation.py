"""One client on one line, as stdio has it: its messages in, its answers out, in the order they are ready."""

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, Final

from msgspec import UNSET, Raw

from kumihimo.wire.changes import RESOURCE_UPDATED, TASK, Change, change_params
from kumihimo.wire.dispatch import answer, gather_answers, handshake_peer, is_stateless, refusal, stateless_peer
from kumihimo.wire.errors import InternalError, InvalidRequest, RpcError
from kumihimo.wire.framing import Frame, frame
from kumihimo.wire.jsonrpc import (
    Message,
    Undecodable,
    decode,
    decode_batch,
    encode_answer,
    encode_failure,
    encode_id,
    encode_notification,
    is_batch,
)
from kumihimo.wire.peer import Peer
from kumihimo.wire.quick import QuickCalls
from kumihimo.wire.revision import LATEST_HANDSHAKE, Revision
from kumihimo.wire.server import Server

MOST_CALLS: Final = 4096
"""Calls of one client that may be under way at once; further ones are refused until some have ended."""

Write = Callable[[bytes], object]
Together = Callable[[], AbstractContextManager[None]]
"""Makes what is entered around the serving of messages that arrived in one piece."""
Start = Callable[[Any, Coroutine[Any, Any, bytes], bool], None]


class Line:
    """The way back for messages that belong to a request: the one line, in the framing of that request."""

    __slots__ = ("_conversation", "_framed", "silent")

    def __init__(self, conversation: "Conversation", *, framed: bool) -> None:
        self.silent = False
        self._conversation = conversation
        self._framed = framed

    async def deliver(self, message: bytes) -> None:
        self._conversation.send(message, framed=self._framed)
        await self._conversation.drained()

    async def pause(self) -> None:
        """A line has no connection of its own to close."""


class ParkedCall:
    """A call whose coroutine has not begun to run, since there is no event loop yet."""

    __slots__ = ("call", "cancelled", "framed", "request_id")

    def __init__(self, request_id: Any, call: Coroutine[Any, Any, bytes], framed: bool) -> None:
        self.request_id = request_id
        self.call = call
        self.framed = framed
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


async def _always() -> None:
    return


def _never() -> bool:
    return False


class Conversation:
    """What is known of the client of one line, and what happens with each of its messages."""

    def __init__(self, server: Server, caller: Any) -> None:
        self.server = server
        self.caller = caller
        self.peer: Peer | None = None
        self.greeted = False
        """Whether a first answer was given."""
        self.calls: dict[int | str, Any] = {}
        """The calls under way, of either era, for the transport to fill."""
        self.drained: Callable[[], Coroutine[Any, Any, None]] = _always
        self.crowded: Callable[[], bool] = _never
        """Whether the client is behind with reading: changes then wait, and replace each other."""
        self._held: dict[tuple[str, str | None], Change] = {}
        self._write: Write = _nowhere
        self._start: Start = _no_start
        self._lines = (Line(self, framed=False), Line(self, framed=True))
        self._framed = False
        self._quick: QuickCalls | None = None

    def attach(self, write: Write, start: Start) -> None:
        """Where encoded frames go, and how a coroutine that makes an answer is run."""
        self._write = write
        self._start = start

    def send(self, message: bytes, *, framed: bool | None = None) -> None:
        self._write(frame(message, framed=self._framed if framed is None else framed))

    def receive(self, incoming: Frame | bytes) -> None:
        """Serve one message, a frame or a bare line: its answer is written now, or when its coroutine is done."""
        if isinstance(incoming, bytes):
            if self._receive_quickly(incoming):
                return
            incoming = Frame(incoming, framed=False)
        body, framed, fault = incoming
        self._framed = framed
        if fault:
            self._fail(None, InvalidRequest(fault))
            return
        try:
            message = decode(body)
        except Undecodable as undecodable:
            if is_batch(body):
                self._receive_batch(body, framed=framed)
            elif undecodable.answerable:
                self._fail(undecodable.request_id, undecodable.error)
            return
        answered = self._serve(message, body, framed=framed)
        if answered is None:
            return
        if isinstance(answered, bytes):
            self.greeted = True
            self._write(frame(answered, framed=framed))
        else:
            self._start(message.id, answered, framed)

    def changed(self, change: Change) -> None:
        """Tell a client with a handshake of a change; those of the stateless revision subscribe by a request."""
        peer = self.peer
        if peer is None or change.method == TASK:
            return
        if change.method == RESOURCE_UPDATED and change.uri not in peer.memory.subscribed:
            return
        if self.crowded():
            self._held[change.key] = change
        else:
            self.send(encode_notification(change.method, change_params(change)))

    def release(self) -> None:
        """The client has caught up: tell it of the changes that waited."""
        held, self._held = self._held, {}
        for change in held.values():
            self.changed(change)

    def close(self) -> None:
        self.server.changes.leave(self)

    def _receive_quickly(self, line: bytes) -> bool:
        quick = self._quick
        if quick is None or len(self.calls) >= MOST_CALLS:
            return False
        answered = quick.answer(line)
        if answered is None:
            return False
        self._framed = False
        self._write(answered)
        return True

    @property
    def _revision(self) -> Revision | None:
        return None if self.peer is None else self.peer.revision

    def _serve(self, message: Message, body: bytes | Raw, *, framed: bool) -> bytes | Coroutine[Any, Any, bytes] | None:
        if message.method is UNSET:
            if self.peer is not None:
                self.peer.memory.hear_answer(message)
            return None
        if message.id is UNSET:
            self._notice(message)
            return None
        peer = self.peer
        try:
            if peer is None or is_stateless(message):
                if message.method == "initialize" and not is_stateless(message):
                    return self._initialize(message)
                if message.method == "ping" and peer is None and not is_stateless(message):
                    return encode_answer(encode_id(message.id or 0), b"{}")
                peer = stateless_peer(self.server, self.caller, message)
            elif message.method == "initialize":
                return self._initialize(message)
            if message.id in self.calls:
                raise InvalidRequest("a request with this id is under way")
            if len(self.calls) >= MOST_CALLS:
                raise InternalError(f"more than {MOST_CALLS} requests are under way: wait for some to end")
        except RpcError as error:
            return refusal(message, error, self._revision)
        except Exception as fault:  # noqa: BLE001 - a fault of the function that makes catalogs must not end the line
            self.server.on_fault(str(message.method), fault)
            return refusal(message, InternalError(), self._revision)
        return answer(self.server, peer, self._lines[framed], message, body)

    def _initialize(self, message: Message) -> bytes:
        self.peer = handshake_peer(self.server, self.caller, message)
        self._quick = QuickCalls(self.peer, self.calls)
        self.server.changes.listen(self, self.changed)
        result = self.server.initialize_result(self.peer.catalog, self.peer.revision)
        return encode_answer(encode_id(message.id or 0), result)

    def _notice(self, message: Message) -> None:
        if message.method == "notifications/cancelled" and message.params is not None:
            call = self.calls.get(message.params.request_id) if message.params.request_id is not UNSET else None
            if call is not None:
                call.cancel()

    def _fail(self, request_id: int | str | None, error: RpcError) -> None:
        revision = self._revision
        self.greeted = True
        self.send(encode_failure(request_id, error, null_id=revision is None or not revision.priming))

    def _receive_batch(self, body: bytes, *, framed: bool) -> None:
        revision = self._revision
        if revision is None or not revision.batches:
            newest = LATEST_HANDSHAKE.name if revision is None else revision.name
            self._fail(None, InvalidRequest(f"{newest} has no batches"))
            return
        try:
            members = decode_batch(body)
        except Undecodable as undecodable:
            self._fail(None, undecodable.error)
            return
        answers: list[bytes] = []
        later: list[Coroutine[Any, Any, bytes]] = []
        for member in members:
            answered = self._serve_member(member, framed=framed)
            if isinstance(answered, bytes):
                answers.append(answered)
            elif answered is not None:
                later.append(answered)
        if later:
            self._start(None, gather_answers(answers, later), framed)
        elif answers:
            self._write(frame(b"[%b]" % b",".join(answers), framed=framed))

    def _serve_member(self, member: Raw, *, framed: bool) -> bytes | Coroutine[Any, Any, bytes] | None:
        try:
            message = decode(member)
        except Undecodable as undecodable:
            return encode_failure(undecodable.request_id, undecodable.error) if undecodable.answerable else None
        if message.method == "initialize":
            return refusal(message, InvalidRequest("initialize is not part of a batch"), self._revision)
        return self._serve(message, member, framed=framed)


def _nowhere(data: bytes) -> None:  # noqa: ARG001 - the signature of Write
    raise RuntimeError("the conversation is not attached to a line")


def _no_start(request_id: Any, call: Coroutine[Any, Any, bytes], framed: bool) -> None:  # noqa: ARG001
    raise RuntimeError("the conversation is not attached to a line")
