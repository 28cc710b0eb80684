"""The tools of other servers as if they were ours: listed under short names, their calls and answers passed on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from kumihimo.domain.errors import KumihimoError
from kumihimo.hub.call import NOBODY
from kumihimo.hub.errors import Code
from kumihimo.hub.exposing import exposed_name, shown_definition
from kumihimo.surfaces.mcp.asking import Line
from kumihimo.surfaces.mcp.refusals import refuse
from kumihimo.wire.content import Text
from kumihimo.wire.revision import Revision
from kumihimo.wire.tool import PassedResult, Tool, ToolResult

if TYPE_CHECKING:
    from kumihimo.hub.call import Asking, Call
    from kumihimo.hub.desk import Desk
    from kumihimo.hub.results import Answer
    from kumihimo.hub.tools import Tool as HubTool
    from kumihimo.operations.operation import Caller
    from kumihimo.surfaces.mcp.door import Door
    from kumihimo.wire.peer import Cancellable
    from kumihimo.wire.request import Request
    from kumihimo.wire.tool import Done

_decode_arguments = msgspec.json.Decoder(dict[str, Any]).decode
_decode_result = msgspec.json.Decoder(PassedResult).decode


class ForeignTool(Tool, frozen=True, kw_only=True, eq=False):
    """Shown as its server shows it, but for the name, and for what no client could read."""

    foreign: dict[str, Any]

    def definition(self, revision: Revision) -> dict[str, Any]:
        shown = {**self.foreign, "name": self.name}
        hidden = () if revision.structured else ("outputSchema", "title", "_meta")
        return {key: value for key, value in shown.items() if key not in hidden}


class Exposed:
    """What one caller is shown."""

    def __init__(
        self, door: Door, find_caller: Callable[[], Awaitable[Caller]], at_hand: Callable[[], Desk | None]
    ) -> None:
        self._door = door
        self._find_caller = find_caller
        # The desk of the caller, where nobody need be waited for to know it.
        self._at_hand = at_hand
        self._seen: list[HubTool] = []
        self._tools: Sequence[Tool] = ()

    async def tools(self) -> Sequence[Tool]:
        """The tools of this moment; the same object for as long as they are the same."""
        found = await (await self._desk()).tools()
        same = len(found) == len(self._seen) and all(map(_is, found, self._seen))
        if not same:
            self._seen = found
            named: dict[str, Tool] = {}
            for tool in found:
                # Only who knows how names are made can have two alike: it must not spoil the list for all others.
                named.setdefault((shown := self._tool(tool)).name, shown)
            self._tools = list(named.values())
        return self._tools

    async def _desk(self) -> Desk:
        try:
            return await self._door.hubs.desk(await self._find_caller())
        except KumihimoError as error:
            raise refuse("hub", error, self._door.language) from None

    def _tool(self, tool: HubTool) -> Tool:
        async def call(request: Request, arguments: Raw) -> PassedResult | ToolResult:
            line = Line(request)
            try:
                return await self._relay(tool.name, arguments, line.asking, request.peer.place)
            finally:
                await line.close()

        def relay(request: Request, arguments: Raw, done: Done) -> Cancellable | None:
            return self._relay_quickly(tool.name, request, arguments, done)

        return ForeignTool(
            name=exposed_name(tool.server, tool.short_name),
            handler=call,
            relay=relay,
            input_schema=tool.input_schema,
            foreign=shown_definition(tool.definition),
        )

    async def _relay(self, name: str, arguments: Raw, asking: Asking, place: str) -> PassedResult | ToolResult:
        desk = (await self._desk()).asking(asking)
        if (away := await self._door.away(place)) is not None:
            desk = desk.away(away)
        call = desk.new_call(name, _decode_arguments(arguments))
        return _returned(call, await desk.relay(call))

    def _relay_quickly(self, name: str, request: Request, arguments: Raw, done: Done) -> Cancellable | None:
        desk = self._at_hand() if request.peer.place in ("", self._door.host) else None
        if desk is None:
            return None
        line = Line(request)
        if line.asking is not NOBODY:
            desk = desk.asking(line.asking)
        call = desk.new_call(name, _decode_arguments(arguments))
        return desk.relay_quickly(call, partial(_conclude, call, line, done))


def _conclude(call: Call, line: Line, done: Done, answer: Answer | Exception) -> None:
    line.conclude(done, answer if isinstance(answer, Exception) else _returned(call, answer))


def _returned(call: Call, answer: Answer) -> PassedResult | ToolResult:
    """All that the server answered, or why it has not."""
    if answer.success or (_said_so_itself(answer) and call.reply is not None):
        assert call.reply is not None, "an answer was answered by somebody"
        return _readable(_decode_result(call.reply))
    assert answer.error is not None, "what has not succeeded has an error"
    return ToolResult([Text(text=f"{answer.error.code}: {answer.error.message}")], is_error=True)


def _readable(result: PassedResult) -> PassedResult:
    """`null` is how some servers leave a field out, and no client reads it."""
    if bytes(memoryview(result.content)[:1]) != b"[":
        result.content = Raw(b"[]")
    if bytes(memoryview(result.structured)[:1]) == b"n":
        result.structured = Raw(b"")
    return result


def _said_so_itself(answer: Answer) -> bool:
    """Whether the tool has answered that it failed: that is its answer, whole."""
    return answer.error is not None and answer.error.code is Code.EXECUTION_FAILED


def _is(one: object, other: object) -> bool:
    return one is other
