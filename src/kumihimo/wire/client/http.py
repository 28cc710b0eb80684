"""A server behind Streamable HTTP: each message a POST, each call on a connection of its own while it is under way."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

from kumihimo.wire.client.background import Background
from kumihimo.wire.client.call import Call, OnReady
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errors import ClientError, ConnectionFailed, ConnectionLost, Refused
from kumihimo.wire.client.headers import header_lines
from kumihimo.wire.client.http_answer import HttpAnswer
from kumihimo.wire.client.http_connection import Line
from kumihimo.wire.client.http_pool import pool_for
from kumihimo.wire.client.posts import Posts
from kumihimo.wire.client.targets import Url
from kumihimo.wire.errors import RpcError
from kumihimo.wire.revision import Revision

_GOODBYE_SECONDS = 1.0


class _Way(NamedTuple):
    """What carries the answer to a call now."""

    connection: Line
    answer: HttpAnswer


class HttpCarrier:
    mirrors = True
    piped = False
    ready = False

    def __init__(self, target: Url, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.most_bytes = target.most_bytes
        self._target = target
        self._pool = pool_for(target)
        self._own_headers = header_lines(target)
        self._revision: Revision | None = None
        self._session = ""
        self._background = Background()
        self._replies = Posts(self.tell, target.most_bytes)
        # By themselves, so that no answer to a question has to wait for a server that takes none of these.
        self._cancellations = Posts(self.tell, target.most_bytes)
        self._closed = False
        # By which the server says what nobody has asked for.
        self._news: HttpAnswer | None = None
        self._write_heads()

    @property
    def session(self) -> str:
        return self._session

    def begin_session(self, session: str) -> None:
        # It goes into a header as it is: whoever sends line ends in it gets none.
        self._session = session if session.isprintable() and session.isascii() else ""
        self._write_heads()

    def agree(self, revision: Revision | None) -> None:
        self._revision = revision
        self._write_heads()

    async def renew(self) -> None:
        self._revision, self._session = None, ""
        self._write_heads()
        if self._news is not None:
            # It is the old session's: nothing is heard by it any more.
            self._news.broke(ConnectionLost("the session was begun anew", delivered=False))

    async def send(self, call: Call) -> None:
        # Before it is waited for a connection: the session may be another by then, or none.
        answer, request = HttpAnswer(self, call), self._request(call.body, call.headers)
        connection = self._pool.ready() or await self._pool.connect()
        if call.over:
            # Its time was over before there was a connection.
            connection.close()
            return
        call.sent = True
        call.way = _Way(connection, answer)
        answer.ask(connection, request)

    def post(self, message: bytes) -> None:
        if not self._closed:
            # Beyond what can wait it is dropped: that nobody wants an answer a server need not know.
            self._cancellations.add(message)

    def reply(self, message: bytes) -> bool:
        return self._closed or self._replies.add(message)

    async def tell(self, message: bytes) -> None:
        # Sent once; nobody is there to be told that it was lost.
        with contextlib.suppress(ClientError, RpcError):
            connection = self._pool.ready() or await self._pool.connect()
            answer = HttpAnswer(self, None)
            answer.ask(connection, self._request(message, b""))
            try:
                await answer.over
            finally:
                connection.drop(answer)

    def abandon(self, call: Call) -> None:
        if isinstance(call.way, _Way):
            # In the stateless revisions this is how a server learns that the answer is not wanted.
            call.way.connection.drop(call.way.answer)
        handshake = self._revision is not None and self._revision.handshake
        if handshake and call.sent and call.can_be_cancelled:
            self.post(call.cancellation)

    def take_up(self, answer: HttpAnswer) -> bool:
        """Ask for the rest of a stream that ended too early. False where that is not possible."""
        resumable = self._revision is not None and self._revision.handshake and answer.last_id is not None
        if not resumable or self._closed or answer.attempt >= self._target.resumptions:
            return False
        self._background.start(self._resume(answer))
        return True

    async def listen(self, on_ready: OnReady) -> None:
        answer = HttpAnswer(self, None)
        answer.on_stream = on_ready
        connection = self._pool.ready() or await self._pool.connect()
        answer.ask(connection, self._get_head + b"\r\n")
        self._news = answer
        try:
            await answer.over
        except Refused as refused:
            # A server may have no such stream.
            if refused.status != 405:
                raise
        finally:
            self._news = None
            connection.drop(answer)

    async def close(self) -> None:
        if self._session and not self._closed:
            with contextlib.suppress(ClientError, RpcError, TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self._say_goodbye()
        self._closed = True
        for work in (self._background, self._replies, self._cancellations):
            await work.end()
        self.dialogue.fail_all(lambda call: ConnectionLost("the session was closed", delivered=call.sent))
        self._pool.close()

    async def _say_goodbye(self) -> None:
        answer = HttpAnswer(self, None)
        connection = self._pool.ready() or await self._pool.connect()
        answer.ask(connection, self._get_head.replace(b"GET ", b"DELETE ", 1) + b"\r\n")
        await answer.over

    async def _resume(self, cut: HttpAnswer) -> None:
        call, last_id = cut.call, cut.last_id
        assert call is not None, "asked before"
        assert last_id is not None, "asked before"
        await asyncio.sleep(cut.retry_seconds)
        if call.over:
            return
        answer = HttpAnswer(self, call, attempt=cut.attempt + 1, last_id=last_id)
        try:
            connection = await self._pool.connect()
        except ConnectionFailed as error:
            if not self.take_up(answer):
                call.fail(ConnectionLost(error.reason, delivered=True))
            return
        if call.over:
            connection.close()
            return
        call.way = _Way(connection, answer)
        answer.ask(connection, self._get_head + b"Last-Event-ID: %b\r\n\r\n" % last_id)

    def _request(self, body: bytes, headers: bytes) -> bytes:
        return b"%b%bContent-Length: %d\r\n\r\n%b" % (self._post_head, headers, len(body), body)

    def _write_heads(self) -> None:
        """What is the same in every request, written once."""
        shared = b"Host: %b\r\n%b" % (self._pool.host, self._own_headers)
        if self._revision is not None:
            shared += b"MCP-Protocol-Version: %b\r\n" % self._revision.name.encode()
        if self._session:
            shared += b"Mcp-Session-Id: %b\r\n" % self._session.encode()
        self._post_head = (
            b"POST %b HTTP/1.1\r\n%bAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
            % (self._pool.path, shared)
        )
        self._get_head = b"GET %b HTTP/1.1\r\n%bAccept: text/event-stream\r\n" % (self._pool.path, shared)
