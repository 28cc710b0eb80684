"""One live session with one server: many calls at once, each answered, failed or timed out by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec import Raw

from kumihimo.wire.client.answers import Greeting, Table, ToolAnswer, table, tool_answer
from kumihimo.wire.client.call import OnProgress
from kumihimo.wire.client.carrier import Carrier
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errors import BadAnswer, ConnectionLost, SessionGone
from kumihimo.wire.client.handshake import Handshake
from kumihimo.wire.client.mirroring import Mirroring
from kumihimo.wire.client.performing import perform
from kumihimo.wire.errors import HEADER_MISMATCH, RpcError
from kumihimo.wire.jsonrpc import encode
from kumihimo.wire.revision import Revision

SECONDS = 60.0
_MOST_PAGES = 1000


class Session:
    """Made by `connect`. Methods raise RpcError for an error of the server, and ClientError for everything else."""

    def __init__(self, dialogue: Dialogue, carrier: Carrier, handshake: Handshake, seconds: float | None) -> None:
        self._dialogue = dialogue
        self._carrier = carrier
        self._handshake = handshake
        self._seconds = seconds
        self._mirroring = Mirroring()
        self._renewing = asyncio.Lock()

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
        await self._carrier.close()

    # What servers offer.

    async def list_tools(self) -> list[Table]:
        found = [tool async for tool in self._pages("tools/list", "tools")]
        self._mirroring.learn(found)
        return found

    async def list_resources(self) -> list[Table]:
        return [resource async for resource in self._pages("resources/list", "resources")]

    async def list_resource_templates(self) -> list[Table]:
        return [template async for template in self._pages("resources/templates/list", "resourceTemplates")]

    async def list_prompts(self) -> list[Table]:
        return [prompt async for prompt in self._pages("prompts/list", "prompts")]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | Raw | None = None,
        *,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
        repeatable: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolAnswer:
        """`repeatable`: the call changes nothing, or may be carried out twice. `meta` is told beside the arguments."""
        raw = await self.call_tool_raw(
            name, arguments, seconds=seconds, on_progress=on_progress, repeatable=repeatable, meta=meta
        )
        answer = tool_answer(raw)
        if answer.result_type != "complete":
            raise BadAnswer(f"the tool answered {answer.result_type!r}, which was not offered to it")
        return answer

    async def call_tool_raw(
        self,
        name: str,
        arguments: Mapping[str, Any] | Raw | None = None,
        *,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
        repeatable: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> Raw:
        """The same, with the result as it came: for whoever passes it on."""
        given = arguments if isinstance(arguments, Raw) else Raw(encode(dict(arguments or {})))
        fields = b'"name":%b,"arguments":%b' % (encode(name), given)
        beside = encode(dict(meta))[1:-1] if meta else b""
        for again in (True, False):
            mirrored = self._mirroring.headers(name, given) if self._carrier.mirrors else b""
            try:
                return await self.request(
                    "tools/call", fields, named=name, mirrored=mirrored, seconds=seconds, on_progress=on_progress,
                    repeatable=repeatable, meta=beside,
                )  # fmt: skip
            except RpcError as error:
                # The server has looked at nothing but the headers: it is asked which it wants, once.
                if error.code != HEADER_MISMATCH or not again or self.revision.handshake:
                    raise
                await self.list_tools()
        raise AssertionError("the second time returns or raises")

    async def read_resource(self, uri: str, *, seconds: float | None = None) -> list[Table]:
        result = await self.request(
            "resources/read", b'"uri":%b' % encode(uri), named=uri, seconds=seconds, repeatable=True
        )
        return _listed(table(result), "contents")

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, seconds: float | None = None
    ) -> Table:
        fields = b'"name":%b,"arguments":%b' % (encode(name), encode(dict(arguments or {})))
        return table(await self.request("prompts/get", fields, named=name, seconds=seconds, repeatable=True))

    async def ping(self, *, seconds: float | None = None) -> None:
        """Whether the server is there. The stateless revisions have no ping of their own."""
        method = "ping" if self.revision.handshake else "server/discover"
        await self.request(method, seconds=seconds, repeatable=True)

    async def listen(self, *, tools: bool = True, prompts: bool = True, resources: bool = True) -> None:
        """Hear of changes by `on_notification`, until the server ends it or this is cancelled."""
        if self.revision.handshake:
            await self._carrier.listen()
            return
        wanted = {"toolsListChanged": tools, "promptsListChanged": prompts, "resourcesListChanged": resources}
        await self.request("subscriptions/listen", b'"notifications":%b' % encode(wanted), seconds=0)

    async def request(
        self,
        method: str,
        fields: bytes = b"",
        *,
        named: str | None = None,
        mirrored: bytes = b"",
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
        repeatable: bool = False,
        meta: bytes = b"",
    ) -> Raw:
        """Any method: `fields` are its parameters as JSON without the braces, `meta` what is told beside them in `_meta`.
        `seconds` of 0 is for ever.

        Sent a second time only where the server has certainly not acted on it, or where that does no harm.
        """
        state = self._handshake.number
        try:
            return await self._once(method, fields, named, mirrored, seconds, on_progress, meta)
        except SessionGone:
            await self._renew(state)
        except (BadAnswer, RpcError):
            raise
        except ConnectionLost:
            if not repeatable:
                raise
        return await self._once(method, fields, named, mirrored, seconds, on_progress, meta)

    async def _once(
        self,
        method: str,
        fields: bytes,
        named: str | None,
        mirrored: bytes,
        seconds: float | None,
        on_progress: OnProgress | None,
        meta: bytes,
    ) -> Raw:
        call = self._dialogue.open(method, on_progress)
        call.body = self._handshake.body(call.id, method, fields, progress=on_progress is not None, meta=meta)
        if self._carrier.mirrors and not self.revision.handshake:
            call.headers = self._handshake.headers(method, named) + mirrored
        return await perform(self._dialogue, self._carrier, call, self._seconds if seconds is None else seconds)

    async def _renew(self, seen: int) -> None:
        """Shake hands again; of many calls that find the session gone, one does."""
        async with self._renewing:
            if self._handshake.number == seen:
                await self._carrier.renew()
                await self._handshake.shake(self._dialogue, self._carrier)

    async def _pages(self, method: str, key: str) -> AsyncIterator[Table]:
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MOST_PAGES):
            fields = b"" if cursor is None else b'"cursor":%b' % encode(cursor)
            page = table(await self.request(method, fields, repeatable=True))
            for entry in _listed(page, key):
                yield entry
            following = page.get("nextCursor")
            if not isinstance(following, str):
                return
            if following in seen:
                break
            seen.add(following)
            cursor = following
        raise BadAnswer(f"{method} never ends")


def _listed(found: Table, key: str) -> list[Table]:
    entries = found.get(key, [])
    try:
        return msgspec.convert(entries, list[Table])
    except msgspec.ValidationError:
        raise BadAnswer(f"{key} is no list of objects") from None
