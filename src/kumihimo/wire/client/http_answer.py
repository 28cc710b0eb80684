"""One HTTP answer to one message: plain JSON, a stream of events, an empty one, or a refusal."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from kumihimo.wire.client.call import Call, OnReady
from kumihimo.wire.client.dialogue import Dialogue, error_of
from kumihimo.wire.client.errors import BadAnswer, ClientError, ConnectionLost, Refused, SessionGone
from kumihimo.wire.client.events import Events
from kumihimo.wire.client.http_connection import Line
from kumihimo.wire.client.retry_after import seconds_until
from kumihimo.wire.errors import RpcError
from kumihimo.wire.jsonrpc import NO_RAW, UNREADABLE

_PHRASES: Final = {it.value: it.phrase for it in HTTPStatus}


class Post(Protocol):
    """What an answer needs of the carrier."""

    dialogue: Dialogue
    most_bytes: int

    def reply(self, message: bytes) -> bool:
        """Answer what the server asks. False where it does not take the answers."""
        ...

    def take_up(self, answer: HttpAnswer) -> bool: ...

    @property
    def session(self) -> str: ...

    def begin_session(self, session: str) -> None: ...


class _Failure(Struct):
    error: Raw | UnsetType = UNSET
    id: Raw = NO_RAW


# Whoever refuses so has not looked at the call, whatever else it says.
_NOT_LET_IN = (401, 403, 429)
# How much is kept of an answer that nobody has asked for: it may say why something was refused.
_MOST_UNASKED = 64 * 1024
_decode_failure = msgspec.json.Decoder(_Failure).decode


class HttpAnswer:
    """`call` is None for what needs no answer. `over` is done with the answer, and has its error where it is one."""

    def __init__(self, carrier: Post, call: Call | None, *, attempt: int = 0, last_id: bytes | None = None) -> None:
        self.call = call
        self.attempt = attempt
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Hears that the answer is a stream.
        self.on_stream: OnReady | None = None
        self.status = 0
        self._line: Line | None = None
        self._carrier = carrier
        self._session = carrier.session
        self._last_id = last_id
        self._retry_after = ""
        self._location = ""
        self._events: Events | None = None
        self._parts: list[bytes] = []
        self._size = 0

    def ask(self, line: Line, request: bytes) -> None:
        self._line = line
        line.ask(request, self)

    @property
    def last_id(self) -> bytes | None:
        """The last event that was heard, where the stream can be taken up after it."""
        return (self._events.last_id if self._events else None) or self._last_id

    @property
    def retry_seconds(self) -> float:
        return self._events.retry_seconds if self._events else 0.5

    def began(self, status: int, headers: dict[bytes, bytes]) -> None:
        self.status = status
        self._retry_after = headers.get(b"retry-after", b"").decode("latin-1")
        self._location = headers.get(b"location", b"").decode("latin-1")
        if self.call is not None and self.call.method == "initialize" and b"mcp-session-id" in headers:
            self._carrier.begin_session(headers[b"mcp-session-id"].decode("latin-1"))
        if status == 200 and headers.get(b"content-type", b"").lower().startswith(b"text/event-stream"):
            self._events = Events(self._hear, self._carrier.most_bytes)
            if self.on_stream is not None:
                self.on_stream()

    def came(self, data: bytes) -> None:
        if self._events is not None:
            self._events.feed(data)
            if self._events.too_long:
                self._cut(self._too_long())
            return
        self._size += len(data)
        if self._size > self._carrier.most_bytes:
            self._parts.clear()
            self._cut(self._too_long())
        elif self.call is not None or self._size <= _MOST_UNASKED:
            self._parts.append(data)

    def ended(self) -> None:
        if self._events is not None:
            self._stream_ended(ConnectionLost("the stream ended without an answer", delivered=True))
        elif 200 <= self.status < 300:
            self._succeeded(b"".join(self._parts))
        else:
            self._fail(self._refusal(b"".join(self._parts)))

    def broke(self, error: ClientError) -> None:
        if self.last_id is not None:
            self._stream_ended(error)
        else:
            self._fail(error)

    def _hear(self, data: bytes) -> None:
        # What a server asks on the way to an answer belongs to that call and no other.
        self._carrier.dialogue.hear(data, self._reply, None if self.call is None else (self.call,))

    def _reply(self, message: bytes) -> None:
        if not self._carrier.reply(message):
            self._cut(ConnectionLost("the server does not take the answers to what it asks", delivered=True))

    def _cut(self, error: ClientError) -> None:
        """Nothing of what still comes is wanted."""
        self._fail(error)
        if self._line is not None:
            self._line.drop(self)

    def _stream_ended(self, error: ClientError) -> None:
        waited_for = self.call is not None and not self.call.over
        if waited_for and self._carrier.take_up(self):
            return
        if waited_for:
            self._fail(error)
        else:
            self._finish()

    def _succeeded(self, body: bytes) -> None:
        if self.call is None:
            self._finish()
            return
        if body:
            self._hear(body)
        if self.call.over:
            self._finish()
        else:
            self._fail(BadAnswer(f"HTTP {self.status} without an answer to the call"))

    def _refusal(self, body: bytes) -> Exception:
        """What a status above 300 means. Of an error in JSON-RPC the status is only an echo."""
        if self.status == 404 and self._session:
            return SessionGone(self.status, "the server does not know the session")
        refusal = self._refusal_itself(body)
        if self._may_mean_session and not _is_answer(body):
            return SessionGone(self.status, "the server may not know the session", instead=refusal)
        return refusal

    @property
    def _may_mean_session(self) -> bool:
        """Many servers say so of a session that they do not know, and of what they can't read."""
        return self.status == 400 and bool(self._session) and self.call is not None and not self.attempt

    def _refusal_itself(self, body: bytes) -> Exception:
        error = None if self.status in _NOT_LET_IN else _rpc_error(body)
        reason = _sentence(body, self.status)
        if 300 <= self.status < 400 and self._location:
            # Not gone to: what is meant for this server is not for whoever it names.
            reason = f"the server is at {self._location[:300]} now, as it says: configure that address"
        return error or Refused(self.status, reason, retry_after_seconds=seconds_until(self._retry_after))

    def _too_long(self) -> BadAnswer:
        return BadAnswer(f"the answer has more than {self._carrier.most_bytes} bytes")

    def _fail(self, error: Exception) -> None:
        if self.attempt and isinstance(error, ClientError) and not error.delivered:
            # The call was taken long ago: only the rest of its answer is refused.
            error = ConnectionLost(error.reason, delivered=True)
        if self.call is not None:
            self.call.fail(error)
            self._finish()
        elif not self.over.done():
            self.over.set_exception(error)

    def _finish(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


def _sentence(body: bytes, status: int) -> str:
    """What is said of a refusal. A page for a browser says no more than its status."""
    said = body[:300].decode("utf-8", "replace").strip()
    if not said.startswith("<"):
        return said
    return _PHRASES.get(status, "")


def _is_answer(body: bytes) -> bool:
    """Whether it names a request that it answers: who does not has perhaps not looked at it."""
    try:
        return bytes(_decode_failure(body).id) not in (b"", b"null")
    except UNREADABLE:
        return False


def _rpc_error(body: bytes) -> RpcError | None:
    try:
        failure: Any = _decode_failure(body)
    except UNREADABLE:
        return None
    return None if failure.error is UNSET else error_of(failure.error)
