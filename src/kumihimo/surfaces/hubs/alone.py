"""A hub for one command of the terminal: opened for it, and gone with everything it started when it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from kumihimo.app import identifiers
from kumihimo.domain.hub_call import HubCall
from kumihimo.hub.settling import COMMAND
from kumihimo.operations.operation import Call, Caller, Operation
from kumihimo.surfaces.hubs.hubs import Hubs
from kumihimo.surfaces.hubs.seats import Seat, seat_of


def carry_out_alone(
    operation: Operation[Any, Any], call: Call, arguments: Any, tell: Callable[[list[str]], None]
) -> Any:
    """The board of the call is asked in this thread: nobody else waits for it. `tell` hears which servers are slow."""

    async def find_seat(caller: Caller) -> Seat:
        return seat_of(call.settings, call.board, caller)

    async def write(calls: list[tuple[str, HubCall]]) -> None:
        call.board.hub_calls.keep(calls)

    async def read(moment: datetime) -> list[HubCall]:
        return call.board.hub_calls.since(moment)

    async def perform() -> Any:
        hubs = Hubs(call.settings, identifiers(), find_seat, write, read, COMMAND._replace(tell=tell))
        try:
            desk = await hubs.desk(call.caller)
            return await operation.handler(Call(call.settings, call.caller, None, desk=desk), arguments)
        finally:
            await hubs.close()

    return asyncio.run(perform())
