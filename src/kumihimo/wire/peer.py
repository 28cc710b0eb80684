"""The other end of a conversation: who calls, what it speaks and what it can do."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Raw

from kumihimo.wire.errors import InvalidRequest, RpcError
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.jsonrpc import Message, encode_notification, encode_request
from kumihimo.wire.logging_level import UNASKED
from kumihimo.wire.revision import Revision

if TYPE_CHECKING:
    import asyncio

    from kumihimo.wire.catalog import Catalog

_decode_capabilities = msgspec.json.Decoder(dict[str, Any]).decode
_decode_info = msgspec.json.Decoder(Implementation).decode


class Channel(Protocol):
    """Where messages go that belong to one request: notifications, and questions to the client."""

    silent: bool
    """Nothing but the result reaches the client."""

    def deliver(self, message: bytes) -> Awaitable[None]:
        """Send one message; returns when there is room for the next."""
        ...

    def pause(self) -> Awaitable[None]:
        """Close the connection that waits for the answer, where the client can come back for it."""
        ...


class Cancellable(Protocol):
    """A call under way."""

    def cancel(self) -> object: ...


class Memory:
    """What a conversation gathers while it lasts: the level it wants, what is under way, what it subscribed to.

    On HTTP it is kept per session by the process that happens to serve it, and may be lost without harm.
    """

    __slots__ = ("calls", "level", "next_question", "questions", "subscribed")

    def __init__(self, level: int = UNASKED) -> None:
        self.level = level
        self.calls: dict[int | str, Cancellable] = {}
        self.questions: dict[str, asyncio.Future[Raw]] = {}
        self.subscribed: set[str] = set()
        self.next_question = 0

    def hear_answer(self, message: Message) -> None:
        """Take the client's response to a question of ours; one that nobody waits for is dropped."""
        answer = self.questions.get(message.id) if isinstance(message.id, str) else None
        if answer is None or answer.done():
            return
        if message.error:
            answer.set_exception(_client_error(message.error))
        else:
            answer.set_result(Raw(bytes(message.result)))

    def cancel(self, request_id: int | str) -> None:
        """Cancel a call that is under way, if there is one of this id."""
        call = self.calls.get(request_id)
        if call is not None:
            call.cancel()

    def cancel_all(self) -> None:
        for call in tuple(self.calls.values()):
            call.cancel()


class Peer:
    """A client: for the life of a stdio process, or for one HTTP request."""

    __slots__ = (
        "_capabilities",
        "_client",
        "caller",
        "capabilities_json",
        "catalog",
        "client_json",
        "memory",
        "place",
        "revision",
    )

    def __init__(
        self,
        caller: Any,
        revision: Revision,
        catalog: "Catalog",
        memory: Memory,
        *,
        client_json: bytes | Raw = b"",
        capabilities_json: bytes | Raw = b"",
        place: str = "",
    ) -> None:
        self.caller = caller
        self.revision = revision
        self.catalog = catalog
        self.memory = memory
        self.client_json = client_json
        self.capabilities_json = capabilities_json
        # Which of the processes that share a key began its session; empty where there is none.
        self.place = place
        self._capabilities: dict[str, Any] | None = None
        self._client: Implementation | None = None

    @property
    def client(self) -> Implementation:
        """How the client names itself; a nameless one is called `unknown`."""
        if self._client is None:
            try:
                self._client = _decode_info(self.client_json)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                self._client = Implementation(name="unknown")
        return self._client

    @property
    def capabilities(self) -> dict[str, Any]:
        if self._capabilities is None:
            try:
                self._capabilities = _decode_capabilities(self.capabilities_json)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                self._capabilities = {}
        return self._capabilities

    def has(self, capability: str) -> bool:
        return capability in self.capabilities

    def has_extension(self, extension: str) -> bool:
        extensions: object = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and extension in extensions

    async def ask(self, channel: Channel, method: str, params: Any) -> Raw:
        """Send a request to the client and wait for its result; RpcError where it answers an error."""
        import asyncio

        if channel.silent:
            raise InvalidRequest("the client takes no stream, so it cannot be asked anything")
        memory = self.memory
        memory.next_question += 1
        question = f"kumi-{memory.next_question}"
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        memory.questions[question] = answer
        try:
            await channel.deliver(encode_request(question, method, params))
            return await answer
        except asyncio.CancelledError:
            if not answer.done():
                notification = encode_notification("notifications/cancelled", {"requestId": question})
                asyncio.get_running_loop().create_task(_quietly(channel.deliver(notification)))
            raise
        finally:
            memory.questions.pop(question, None)


CatalogOf = Callable[[Any, Revision], "Catalog"]


async def _quietly(delivery: Awaitable[None]) -> None:
    """The client is told that its answer is not needed any more; one that is gone need not be told."""
    try:
        await delivery
    except (OSError, RpcError):
        return


class _Reported(msgspec.Struct):
    code: int
    message: str = ""
    data: Any = None


def _client_error(raw: Raw) -> RpcError:
    try:
        reported = msgspec.json.decode(raw, type=_Reported)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return InvalidRequest("the client answered a malformed error")
    return RpcError(reported.code, f"The client answered: {reported.message}", reported.data)
