"""One live session with one server: many calls at once, each answered, failed or timed out by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from types import TracebackType
from typing import Any, Self

from msgspec import Raw

from kumihimo.wire.client.answers import Greeting, Table, ToolAnswer, table, tool_answer
from kumihimo.wire.client.call import OnProgress, OnReady, OnRequest
from kumihimo.wire.client.carrier import Carrier
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errand import Errand
from kumihimo.wire.client.errors import BadAnswer
from kumihimo.wire.client.handshake import Handshake
from kumihimo.wire.client.input_required import is_input_required
from kumihimo.wire.client.listing import Kind, Listing, contents_of
from kumihimo.wire.client.messenger import Messenger
from kumihimo.wire.client.relayed import Relayed, Take
from kumihimo.wire.jsonrpc import NO_RAW, encode
from kumihimo.wire.revision import Revision

SECONDS = 60.0


class Session:
    """Made by `connect`. Methods raise RpcError for an error of the server, and ClientError for everything else.

    What many of them take: `seconds`, how long it may take (0 is for ever); `on_input`, who is asked what the server wants
    to know because of this call, instead of the `on_request` of the session; and `offers`, what the server may ask for,
    instead of the capabilities of the introduction, which only the stateless revision says anew with each call.
    """

    def __init__(self, dialogue: Dialogue, carrier: Carrier, handshake: Handshake, seconds: float | None) -> None:
        self._dialogue = dialogue
        self._carrier = carrier
        self._handshake = handshake
        self._seconds = seconds
        self._messenger = Messenger(dialogue, carrier, handshake)

    @property
    def greeting(self) -> Greeting:
        return self._handshake.greeting

    @property
    def revision(self) -> Revision:
        return self._handshake.revision

    @property
    def noise(self) -> int:
        """How many messages could not be understood, or were answers that nobody waits for."""
        return self._dialogue.noise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        try:
            await self._messenger.close()
        finally:
            await self._carrier.close()
            await self._dialogue.end()

    # What servers offer.

    async def listing(self, kind: Kind) -> Listing:
        """All of one kind, with how long that is good and for whom."""
        return await self._messenger.listing(kind, self._seconds)

    async def list_tools(self) -> list[Table]:
        return (await self.listing("tools")).entries

    async def list_resources(self) -> list[Table]:
        return (await self.listing("resources")).entries

    async def list_resource_templates(self) -> list[Table]:
        return (await self.listing("templates")).entries

    async def list_prompts(self) -> list[Table]:
        return (await self.listing("prompts")).entries

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | Raw | None = None,
        *,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
        repeatable: bool = False,
        meta: Mapping[str, Any] | None = None,
        on_input: OnRequest | None = None,
        offers: Mapping[str, Any] | None = None,
    ) -> ToolAnswer:
        """`repeatable`: the call changes nothing, or may be carried out twice. `meta` is told beside the arguments."""
        raw = await self.call_tool_raw(
            name, arguments, seconds=seconds, on_progress=on_progress, repeatable=repeatable, meta=meta,
            on_input=on_input, offers=offers,
        )  # fmt: skip
        answer = tool_answer(raw)
        if answer.result_type != "complete":
            raise BadAnswer(f"the tool answered {answer.result_type!r}, which was not offered to it")
        return answer

    def call_tool_raw(
        self,
        name: str,
        arguments: Mapping[str, Any] | Raw | None = None,
        *,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
        repeatable: bool = False,
        meta: Mapping[str, Any] | None = None,
        on_input: OnRequest | None = None,
        offers: Mapping[str, Any] | None = None,
    ) -> Awaitable[Raw]:
        """The same, with the result as it came: for whoever passes it on. To be awaited at once."""
        if isinstance(arguments, Raw) and not (on_progress or on_input or meta or repeatable):
            plain = self._messenger.call_plainly(name, arguments, self._seconds if seconds is None else seconds)
            if plain is not None:
                return plain
        given = arguments if isinstance(arguments, Raw) else Raw(encode(dict(arguments or {})))
        fields = b'"name":%b,"arguments":%b' % (encode(name), given)
        beside = encode(dict(meta))[1:-1] if meta else b""
        errand = Errand("tools/call", fields, name, given, on_progress, repeatable, beside, on_input, offers)
        return self._messenger.run(errand, self._seconds if seconds is None else seconds)

    def relay_tool(
        self,
        name: str,
        arguments: Raw,
        take: Take,
        *,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
        on_input: OnRequest | None = None,
    ) -> Relayed | None:
        """The same for whoever does not wait: `take` hears what comes of it. None, with nothing sent, where it can't be sent
        this very moment or needs somebody who waits: then it is to be called as above."""
        allowed = self._seconds if seconds is None else seconds
        return self._messenger.relay(name, arguments, allowed, take, on_progress, meta, on_input)

    async def read_resource(
        self,
        uri: str,
        *,
        seconds: float | None = None,
        on_input: OnRequest | None = None,
        offers: Mapping[str, Any] | None = None,
    ) -> list[Table]:
        return (await self.resource(uri, seconds=seconds, on_input=on_input, offers=offers)).entries

    async def resource(
        self,
        uri: str,
        *,
        seconds: float | None = None,
        on_input: OnRequest | None = None,
        offers: Mapping[str, Any] | None = None,
    ) -> Listing:
        """What a resource holds, with how long that is good and for whom."""
        fields = b'"uri":%b' % encode(uri)
        result = await self.request(
            "resources/read", fields, named=uri, seconds=seconds, repeatable=True, on_input=on_input, offers=offers
        )
        return contents_of(_complete(result))

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        seconds: float | None = None,
        on_input: OnRequest | None = None,
        offers: Mapping[str, Any] | None = None,
    ) -> Table:
        fields = b'"name":%b,"arguments":%b' % (encode(name), encode(dict(arguments or {})))
        result = await self.request(
            "prompts/get", fields, named=name, seconds=seconds, repeatable=True, on_input=on_input, offers=offers
        )
        return table(_complete(result))

    async def ping(self, *, seconds: float | None = None) -> None:
        """Whether the server is there. The stateless revisions have no ping of their own."""
        method = "ping" if self.revision.handshake else "server/discover"
        await self.request(method, seconds=seconds, repeatable=True)

    async def listen(
        self, *, tools: bool = True, prompts: bool = True, resources: bool = True, on_ready: OnReady | None = None
    ) -> None:
        """Hear of changes by `on_notification`, until the server ends it or this is cancelled. From the moment that
        `on_ready` hears of nothing is missed."""
        if self.revision.handshake:
            await self._carrier.listen(on_ready or _nothing)
            return
        wanted = {"toolsListChanged": tools, "promptsListChanged": prompts, "resourcesListChanged": resources}
        fields = b'"notifications":%b' % encode(wanted)
        await self._messenger.run(Errand("subscriptions/listen", fields, on_ready=on_ready), 0)

    async def request(
        self,
        method: str,
        fields: bytes = b"",
        *,
        named: str | None = None,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
        repeatable: bool = False,
        meta: bytes = b"",
        on_input: OnRequest | None = None,
        offers: Mapping[str, Any] | None = None,
    ) -> Raw:
        """Any method: `fields` are its parameters as JSON without the braces, `meta` what is told beside them in `_meta`.

        Sent a second time only where the server has certainly not acted on it, or where that does no harm. Where the server
        asks for input and there is nobody to ask, this is what is answered.
        """
        errand = Errand(method, fields, named, NO_RAW, on_progress, repeatable, meta, on_input, offers)
        return await self._messenger.run(errand, self._seconds if seconds is None else seconds)


def _nothing() -> None:
    """Nobody needs to know."""


def _complete(result: Raw) -> Raw:
    if is_input_required(result):
        raise BadAnswer("the server asks for input, which was not offered to it")
    return result
