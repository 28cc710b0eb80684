"""Tools whose operations work with the hub: coroutines, with a desk in place of the board."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from kumihimo.domain.errors import KumihimoError
from kumihimo.hub.call import NOBODY
from kumihimo.operations.operation import Call, Caller
from kumihimo.services.projects import Place
from kumihimo.surfaces.mcp.asking import Line
from kumihimo.surfaces.mcp.door import is_limited
from kumihimo.surfaces.mcp.refusals import refuse, refuse_arguments
from kumihimo.wire.tool import ToolResult

if TYPE_CHECKING:
    from kumihimo.hub.desk import Desk
    from kumihimo.hub.results import Answer
    from kumihimo.surfaces.mcp.catalogs import ToolCall
    from kumihimo.wire.peer import Cancellable
    from kumihimo.wire.request import Request
    from kumihimo.wire.tool import Done


_NOBODY = Caller("hub", Place())
_encode = msgspec.json.Encoder().encode


async def perform(tool: ToolCall, request: Request, arguments: Raw) -> Any:
    door, operation = tool.door, tool.tool.bound_operation()
    try:
        given = tool.decode(arguments)
    except msgspec.DecodeError as error:
        raise refuse_arguments(tool.toolset.dialect, str(error)) from None
    line = Line(request)
    try:
        desk = _known(tool, request) or await _desk(tool, request)
        if line.asking is not NOBODY:
            desk = desk.asking(line.asking)
        if (away := await door.away(request.peer.place)) is not None:
            desk = desk.away(away)
        # Who calls is known by the desk: the operations of the hub ask for nothing else.
        answer = await operation.handler(Call(door.settings, _NOBODY, None, None, desk), tool.take(given))
    except KumihimoError as error:
        raise refuse(tool.toolset.dialect, error, door.language) from None
    finally:
        if line.telling:
            await line.close()
    return _returned(tool, answer)


def relay(tool: ToolCall, request: Request, arguments: Raw, done: Done) -> Cancellable | None:
    """The short way, for operations that have one. Whatever it does not know is left to the long one."""
    door, operation = tool.door, tool.tool.bound_operation()
    desk = door.desk_at_hand(tool.caller, request.caller) if request.peer.place in ("", door.host) else None
    if desk is None:
        return None
    try:
        given = tool.decode(arguments)
    except msgspec.DecodeError:
        return None
    line = Line(request)
    if line.asking is not NOBODY:
        desk = desk.asking(line.asking)

    assert operation.relay is not None, "asked only of those that have one"
    return operation.relay(desk, tool.take(given), partial(_conclude, tool, line, done))


def _conclude(tool: ToolCall, line: Line, done: Done, answer: Answer | Exception) -> None:
    line.conclude(done, answer if isinstance(answer, Exception) else _returned(tool, answer))


def _returned(tool: ToolCall, answer: Any) -> Any:
    payload = _encode(answer)
    failed = tool.tool.failed
    return ToolResult(structured=Raw(payload), is_error=True) if failed is not None and failed(answer) else payload


def _known(tool: ToolCall, request: Request) -> Desk | None:
    """The desk of the owner, who is the same each time. A run may have ended since: it is asked about each time."""
    return None if is_limited(request.caller) else tool.door.hubs.known(request.caller)


async def _desk(tool: ToolCall, request: Request) -> Desk:
    door = tool.door
    caller = await door.know(tool.caller, request.caller)
    desk = await door.hubs.desk(caller)
    if not is_limited(request.caller):
        door.hubs.remember(request.caller, desk)
    return desk
