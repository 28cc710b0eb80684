"""A server of the first revision behind HTTP: one long stream of events brings everything, each message of ours is a POST.

The first event of the stream says where to post. An answer to a POST says only that the message was taken, or why not.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

from kumihimo.wire.client.call import Call, OnReady
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errors import ClientError, ConnectionFailed, ConnectionLost
from kumihimo.wire.client.headers import header_lines
from kumihimo.wire.client.http_answer import HttpAnswer
from kumihimo.wire.client.http_connection import Line
from kumihimo.wire.client.http_pool import pool_for
from kumihimo.wire.client.posts import Posts
from kumihimo.wire.client.sse_stream import SseStream
from kumihimo.wire.client.targets import Url
from kumihimo.wire.errors import RpcError
from kumihimo.wire.revision import Revision


class _Way(NamedTuple):
    """What carries a call to the server."""

    connection: Line
    answer: HttpAnswer


class SseCarrier:
    mirrors = False
    piped = False
    ready = False

    def __init__(self, target: Url, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.most_bytes = target.most_bytes
        self._target = target
        self._pool = pool_for(target)
        self._own_headers = header_lines(target)
        self._revision: Revision | None = None
        self._endpoint = b""
        self._stream: SseStream | None = None
        self._lost: str | None = None
        self._replies = Posts(self.tell, target.most_bytes)
        # By themselves, so that no answer to a question has to wait for a server that takes none of these.
        self._cancellations = Posts(self.tell, target.most_bytes)

    async def open(self) -> None:
        """Begin the stream. ConnectionFailed or Refused where it does not say where to post; nothing was sent then."""
        connection = await self._pool.connect()
        stream = SseStream(self)
        stream.ask(connection, self._head(b"GET", self._pool.path) + b"Accept: text/event-stream\r\n\r\n")
        try:
            async with asyncio.timeout(self._target.connect_seconds):
                endpoint = await stream.begun()
        except TimeoutError:
            connection.drop(stream)
            raise ConnectionFailed(
                f"{self._target.url}: no endpoint within {self._target.connect_seconds:g} s"
            ) from None
        except BaseException:
            connection.drop(stream)
            raise
        path = self._pool.address.path_to(endpoint)
        if path is None:
            # Whoever could send us elsewhere would get the headers that are meant for this server.
            connection.drop(stream)
            raise ConnectionFailed(f"{self._target.url}: the endpoint is not at the same origin: {endpoint[:200]!r}")
        self._endpoint, self._stream, self._lost = path, stream, None
        stream.over.add_done_callback(lambda _: self._ended(stream, connection))

    @property
    def session(self) -> str:
        """The endpoint names it: who posts there and is not known has no session any more."""
        return self._endpoint.decode()

    def begin_session(self, session: str) -> None:
        """Only the stream begins one."""

    def take_up(self, answer: HttpAnswer) -> bool:  # noqa: ARG002 - what another carrier can do
        """A stream that ended has taken its session with it."""
        return False

    def agree(self, revision: Revision | None) -> None:
        self._revision = revision

    async def renew(self) -> None:
        """Begin another stream. Whoever still waits for an answer on the old one waits in vain."""
        self._abandon_stream("the server has forgotten the session")
        await self.open()

    async def send(self, call: Call) -> None:
        if self._lost is not None:
            raise ConnectionFailed(self._lost)
        connection = self._pool.ready() or await self._pool.connect()
        if call.over:
            # Its time was over, or the stream, before there was a connection.
            connection.close()
            return
        call.sent = True
        answer = HttpAnswer(self, None)
        call.way = _Way(connection, answer)
        answer.over.add_done_callback(lambda over: _refuse(call, over))
        answer.ask(connection, self._request(call.body))

    def post(self, message: bytes) -> None:
        if self._lost is None:
            # Beyond what can wait it is dropped: that nobody wants an answer a server need not know.
            self._cancellations.add(message)

    def reply(self, message: bytes) -> bool:
        return self._lost is not None or self._replies.add(message)

    async def tell(self, message: bytes) -> None:
        # Sent once; nobody is there to be told that it was lost.
        with contextlib.suppress(ClientError, RpcError):
            connection = self._pool.ready() or await self._pool.connect()
            answer = HttpAnswer(self, None)
            answer.ask(connection, self._request(message))
            try:
                await answer.over
            finally:
                connection.drop(answer)

    def abandon(self, call: Call) -> None:
        if isinstance(call.way, _Way):
            call.way.connection.drop(call.way.answer)
        if call.sent and call.can_be_cancelled:
            self.post(call.cancellation)

    async def listen(self, on_ready: OnReady) -> None:
        """Everything comes by the one stream: this ends with it, and is never ready where it has ended."""
        if self._stream is not None:
            on_ready()
            await asyncio.wait((self._stream.over,))

    async def close(self) -> None:
        self._abandon_stream("the session was closed")
        await self._replies.end()
        await self._cancellations.end()
        self._pool.close()

    def _ended(self, stream: SseStream, connection: Line) -> None:
        # It may have ended for us before it has for the server: a message was too long.
        connection.drop(stream)
        error = stream.over.exception()
        if stream is self._stream:
            self._abandon_stream(f"the stream of the server ended{f': {error}' if error else ''}")

    def _abandon_stream(self, reason: str) -> None:
        self._lost = self._lost or reason
        stream, self._stream = self._stream, None
        if stream is not None and not stream.over.done():
            stream.over.set_result(None)
        self.dialogue.fail_all(lambda call: ConnectionLost(reason, delivered=call.sent))

    def _request(self, body: bytes) -> bytes:
        head = self._head(b"POST", self._endpoint)
        return b"%bContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (head, len(body), body)

    def _head(self, method: bytes, path: bytes) -> bytes:
        head = b"%b %b HTTP/1.1\r\nHost: %b\r\n%b" % (method, path, self._pool.host, self._own_headers)
        if self._revision is not None:
            head += b"MCP-Protocol-Version: %b\r\n" % self._revision.name.encode()
        return head


def _refuse(call: Call, over: asyncio.Future[None]) -> None:
    """A message that was not taken gets no answer."""
    if over.cancelled() or (error := over.exception()) is None:
        return
    assert isinstance(error, ClientError | RpcError), "what an HTTP answer can say"
    call.fail(error)
