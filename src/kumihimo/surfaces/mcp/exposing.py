"""The tools of other servers as if they were ours: listed under short names, their calls and answers passed on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from kumihimo.domain.errors import KumihimoError
from kumihimo.hub.errors import Code
from kumihimo.hub.exposing import exposed_name
from kumihimo.surfaces.mcp.asking import Line
from kumihimo.surfaces.mcp.refusals import refuse
from kumihimo.wire.content import Text
from kumihimo.wire.revision import Revision
from kumihimo.wire.tool import PassedResult, Tool, ToolRefusal, ToolResult

if TYPE_CHECKING:
    from kumihimo.hub.call import Asking
    from kumihimo.hub.desk import Desk
    from kumihimo.hub.results import Answer
    from kumihimo.hub.tools import Tool as HubTool
    from kumihimo.operations.operation import Caller
    from kumihimo.surfaces.mcp.door import Door
    from kumihimo.wire.request import Request

_decode_arguments = msgspec.json.Decoder(dict[str, Any]).decode
_decode_result = msgspec.json.Decoder(PassedResult).decode


class ForeignTool(Tool, frozen=True, kw_only=True, eq=False):
    """Shown as its server shows it, but for the name."""

    foreign: dict[str, Any]

    def definition(self, revision: Revision) -> dict[str, Any]:
        shown = {**self.foreign, "name": self.name}
        hidden = () if revision.structured else ("outputSchema", "title", "_meta")
        return {key: value for key, value in shown.items() if key not in hidden}


class Exposed:
    """What one caller is shown."""

    def __init__(self, door: Door, find_caller: Callable[[], Awaitable[Caller]]) -> None:
        self._door = door
        self._find_caller = find_caller
        self._seen: list[HubTool] = []
        self._tools: Sequence[Tool] = ()

    async def tools(self) -> Sequence[Tool]:
        """The tools of this moment; the same object for as long as they are the same."""
        found = await (await self._desk()).tools()
        same = len(found) == len(self._seen) and all(map(_is, found, self._seen))
        if not same:
            self._seen = found
            self._tools = [self._tool(tool) for tool in found]
        return self._tools

    async def _desk(self) -> Desk:
        try:
            return await self._door.hubs.desk(await self._find_caller())
        except KumihimoError as error:
            raise refuse("hub", error, self._door.language) from None

    def _tool(self, tool: HubTool) -> Tool:
        async def call(request: Request, arguments: Raw) -> PassedResult:
            line = Line(request)
            try:
                return await self._relay(tool.name, arguments, line.asking, request.peer.place)
            finally:
                await line.close()

        return ForeignTool(
            name=exposed_name(tool.server, tool.short_name),
            handler=call,
            input_schema=tool.input_schema,
            foreign=tool.definition,
        )

    async def _relay(self, name: str, arguments: Raw, asking: Asking, place: str) -> PassedResult:
        desk = (await self._desk()).asking(asking)
        if (away := await self._door.away(place)) is not None:
            desk = desk.away(away)
        call = desk.new_call(name, _decode_arguments(arguments))
        answer = await desk.relay(call)
        if answer.success or (_said_so_itself(answer) and call.reply is not None):
            assert call.reply is not None, "an answer was answered by somebody"
            return _decode_result(call.reply)
        assert answer.error is not None, "what has not succeeded has an error"
        told = f"{answer.error.code}: {answer.error.message}"
        raise ToolRefusal(ToolResult([Text(text=told)], is_error=True))


def _said_so_itself(answer: Answer) -> bool:
    """Whether the tool has answered that it failed: that is its answer, whole."""
    return answer.error is not None and answer.error.code is Code.EXECUTION_FAILED


def _is(one: object, other: object) -> bool:
    return one is other
