"""Waiting: a call that is answered when something has happened, with progress meanwhile, or as a task.

Many clients give up a call after 60 seconds. One that gave a progress token, or that can hold a task, waits as long as it
likes; any other is answered after 50 seconds and told to call again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from kumihimo.domain.errors import KumihimoError
from kumihimo.services.board import Board
from kumihimo.surfaces.mcp.refusals import refuse

if TYPE_CHECKING:
    from kumihimo.operations.operation import Caller
    from kumihimo.surfaces.mcp.catalogs import ToolCall
    from kumihimo.surfaces.mcp.door import Door
    from kumihimo.wire.request import Request
    from kumihimo.wire.task import TaskStore

    CallerOf = Callable[[Board, Any], Caller]

CUT_SHORT_SECONDS = 50.0
_PROGRESS_SECONDS = 5.0


def tasks_of(door: Door, names: Collection[str], caller_of: CallerOf) -> TaskStore | None:
    """Where the tasks of a server are, if any of its toolsets has some."""
    if "lead" not in names:
        return None
    from kumihimo.surfaces.mcp.tasks import Waits

    return Waits(door, caller_of)


class Wait:
    """One wait. `look` answers None while there is nothing to answer."""

    def __init__(self, call: ToolCall, client: Any, given: Any) -> None:
        self._call = call
        self._client = client
        self._given = given
        self._operation = call.tool.bound_operation()
        self._arguments = call.build(given)

    async def perform(self, request: Request) -> Any:
        patience = float(self._operation.patience(self._arguments)) if self._operation.patience else 0.0
        try:
            if request.accepts_tasks and self._call.tool.name == "wait_agent":
                from kumihimo.surfaces.mcp.tasks import handle_of

                answer = await self._look()
                return handle_of(self._given, self._call.door.board.clock()) if answer is None else self._encode(answer)
            holds = request.wants_progress or self._call.tool.name != "wait_agent"
            cut_short = patience > CUT_SHORT_SECONDS and not holds
            answer = await self._until(request, min(patience, CUT_SHORT_SECONDS) if cut_short else patience)
            return self._encode(await self._in_vain(cut_short) if answer is None else answer)
        except KumihimoError as error:
            raise refuse(self._call.toolset.dialect, error, self._call.door.language) from None

    async def _until(self, request: Request, seconds: float) -> Any:
        import asyncio

        begun = time.monotonic()
        if not request.wants_progress:
            return await self._call.door.wait(self._work, seconds)
        waiting = asyncio.ensure_future(self._call.door.wait(self._work, seconds))
        try:
            while True:
                done, _ = await asyncio.wait((waiting,), timeout=_PROGRESS_SECONDS)
                if done:
                    return waiting.result()
                await request.progress(round(time.monotonic() - begun, 1), message="still waiting")
        finally:
            waiting.cancel()

    async def _look(self) -> Any:
        return await self._call.door.wait(self._work, 0.0)

    def _work(self, board: Board) -> Any:
        caller = self._call.caller(board, self._client)
        return self._operation.handler(self._call.door.call(board, caller), self._arguments)

    async def _in_vain(self, cut_short: bool) -> Any:
        in_vain = self._operation.in_vain
        if not callable(in_vain):
            return in_vain

        def work(board: Board) -> Any:
            caller = self._call.caller(board, self._client)
            return in_vain(self._call.door.call(board, caller), self._arguments, cut_short)

        return await self._call.door.elsewhere(work) if self._call.door.remote else work(self._call.door.board)

    def _encode(self, answer: Any) -> bytes:
        return self._call.encode(answer)
