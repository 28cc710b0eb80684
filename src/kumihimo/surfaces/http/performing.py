"""An operation carried out behind a door, as it needs: at once, in a thread, with patience, or with the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kumihimo.operations.operation import Call, Operation

if TYPE_CHECKING:
    from kumihimo.operations.operation import Caller
    from kumihimo.services.board import Board
    from kumihimo.settings import Language
    from kumihimo.surfaces.mcp.door import Door


async def perform(
    door: Door, operation: Operation[Any, Any], caller: Caller, arguments: Any, language: Language | None = None
) -> Any:
    """KumihimoError where it is refused."""
    if operation.uses_hub:
        call = Call(door.settings, caller, None, desk=await door.hubs.desk(caller))
        return await operation.handler(call, arguments)
    if operation.patience is not None:
        return await _wait(door, operation, caller, arguments)

    def work(board: Board) -> Any:
        return operation.handler(door.call(board, caller, language), arguments)

    return work(door.board) if door.does_at_once(operation, arguments) else await door.elsewhere(work)


async def _wait(door: Door, operation: Operation[Any, Any], caller: Caller, arguments: Any) -> Any:
    assert operation.patience is not None, "only what waits is waited for"

    def look(board: Board) -> Any:
        return operation.handler(door.call(board, caller), arguments)

    answer = await door.wait(look, operation.patience(arguments))
    if answer is not None:
        return answer
    in_vain = operation.in_vain
    if not callable(in_vain):
        return in_vain
    return await door.elsewhere(lambda board: in_vain(door.call(board, caller), arguments, False))
