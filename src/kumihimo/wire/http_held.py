"""A call over HTTP that no task waits for: somebody else does it, and tells when it is done."""

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from kumihimo.wire.errors import InternalError
from kumihimo.wire.http_respond import Receive, Send
from kumihimo.wire.jsonrpc import Params, encode_answer, encode_failure, encode_id
from kumihimo.wire.methods import encode_called
from kumihimo.wire.peer import Cancellable, Peer
from kumihimo.wire.request import Request
from kumihimo.wire.sse import Stream
from kumihimo.wire.tool import Tool

if TYPE_CHECKING:
    from kumihimo.wire.http_post import Post
    from kumihimo.wire.http_quick import Admitted
    from kumihimo.wire.serving.exchange import Exchange


class HeldCall:
    """It gets a task after all where it takes long, where its server has something to say or to ask before the answer, and
    where it is cancelled. To its request it is the channel to the client.
    """

    __slots__ = (
        "_admitted",
        "_cancelled",
        "_exchange",
        "_handle",
        "_id",
        "_over",
        "_peer",
        "_post",
        "_request",
        "_returned",
        "_stream",
        "silent",
    )

    def __init__(
        self, post: "Post", exchange: "Exchange", admitted: "Admitted", peer: Peer, identity: int | str
    ) -> None:
        self.silent = False
        self._post = post
        self._exchange = exchange
        self._admitted = admitted
        self._peer = peer
        self._id = identity
        self._handle: Cancellable | None = None
        self._over = False
        self._cancelled = False
        # These come with the task.
        self._stream: Stream | None = None
        self._returned: asyncio.Future[Any] | None = None

    def begin(self, tool: Tool, params: Params, arguments: Raw, body: bytes) -> bool:
        """False where nothing was begun."""
        assert tool.relay is not None, "asked only of those that have one"
        peer, post = self._peer, self._post
        self.silent = self._admitted.takes_json_alone
        self._request = Request(post.server, peer, self, self._id, "tools/call", params, body)
        self._handle = tool.relay(self._request, arguments, self._done)
        if self._handle is None:
            return False
        peer.memory.calls[self._id] = self
        post.watch.add(self)
        self._exchange.take(self)
        return True

    # What others tell

    def client_left(self) -> None:
        self._leave()
        self._let_go()
        self._forget()

    def start_watching(self) -> None:
        """It takes long."""
        if not self._over:
            self._get_task()

    def cancel(self) -> None:
        """The client does not want the answer any more, or the server goes away. Its connection ends as that of any other
        call that is cancelled."""
        if not self._over:
            self._cancelled = True
            self._get_task()

    async def over(self) -> None:
        """Of one that was cancelled."""
        if self._exchange.task is not None:
            await asyncio.wait({self._exchange.task})

    def _done(self, returned: Any) -> None:
        if self._returned is not None:
            if not self._returned.done():
                self._returned.set_result(returned)
        elif not self._over:
            self._leave()
            self._exchange.answer_json(self._encoded(returned))
            self._forget()

    # What its request uses

    async def deliver(self, message: bytes) -> None:
        await self._streaming().deliver(message)

    async def pause(self) -> None:
        await self._streaming().pause()

    def _streaming(self) -> Stream:
        if self._stream is None:
            self._get_task()
        assert self._stream is not None, "made with the task"
        return self._stream

    # Inside

    def _let_go(self) -> None:
        assert self._handle is not None, "it was begun"
        self._handle.cancel()

    def _forget(self) -> None:
        """Its request and who does it know it in turn: what is over should not have to be looked for as garbage."""
        self._handle = None
        del self._request

    def _leave(self) -> None:
        """Nothing reaches it any more in this form."""
        self._over = True
        self._post.watch.leave(self)
        self._peer.memory.calls.pop(self._id, None)

    def _get_task(self) -> None:
        self._leave()
        self._returned = asyncio.get_running_loop().create_future()
        self._stream = self._post.stream(self._exchange.send, self._admitted.token, self._peer, self._admitted.headers)
        self._exchange.go_on(self._serve)

    async def _serve(self, _: Any, receive: Receive, send: Send) -> None:
        assert self._stream is not None, "made with the task"
        await self._post.run(self._wait(), self._stream, self._peer, self._id, receive, send)

    async def _wait(self) -> bytes:
        assert self._returned is not None, "made with the task"
        if self._cancelled:
            self._peer.memory.cancel(self._id)
        try:
            return self._encoded(await self._returned)
        except asyncio.CancelledError:
            self._let_go()
            raise

    def _encoded(self, returned: Any) -> bytes:
        try:
            if isinstance(returned, Exception):
                raise returned
            return encode_answer(encode_id(self._id), encode_called(self._request, returned))
        except Exception as fault:  # noqa: BLE001 - the outermost frame of a call: every fault becomes an answer
            self._post.server.on_fault("tools/call", fault)
            return encode_failure(self._id, InternalError())
