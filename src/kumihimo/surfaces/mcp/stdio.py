"""MCP on standard input and output: one process, one client."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kumihimo import __version__
from kumihimo.domain.errors import KumihimoError, StoreError
from kumihimo.operations.operation import Caller
from kumihimo.services.board import Board
from kumihimo.settings import Settings
from kumihimo.surfaces.garbage import settle
from kumihimo.surfaces.mcp.catalogs import Bench
from kumihimo.surfaces.mcp.door import Door, Resident
from kumihimo.surfaces.mcp.waiting import tasks_of
from kumihimo.surfaces.mcp.watching import watcher
from kumihimo.toolsets.registry import together
from kumihimo.toolsets.texts import words
from kumihimo.wire import stdio
from kumihimo.wire.errors import INVALID_PARAMS, OLD_RESOURCE_NOT_FOUND
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.server import Server


def serve(settings: Settings, names: list[str], agent_id: str | None, expose: str | None = None) -> int:
    """Serve until the input ends or a signal comes. The session of a resident is closed whichever way that is."""
    toolsets = together(names)
    door = Door(settings)
    try:
        resident = Resident(door, agent_id) if "resident" in names and agent_id is not None else None
        callers = _callers(door, resident)
        beside = _Beside(door, expose or settings.hub.expose) if "hub" in names else None
        server = Server(
            Implementation(name="kumihimo", version=__version__, title="Kumihimo"),
            Bench(door, toolsets, callers).catalog(beside.exposed if beside else None),
            tasks=tasks_of(door, names, callers),
            instructions=words("instructions", settings.language),
            watch=watcher(door),
            # A resident speaks JSON-RPC's own numbers in every revision.
            unknown_resource=OLD_RESOURCE_NOT_FOUND if resident is None else INVALID_PARAMS,
        )
        settle()
        return stdio.serve(
            server,
            together=door.together,
            background=partial(beside.live, server) if beside else None,
            on_shutdown=partial(_close, door, resident),
        )
    except KumihimoError:
        door.close()
        raise


class _Beside:
    """The hub beside the calls. ConfigError at once where its servers are not well configured."""

    def __init__(self, door: Door, expose: str) -> None:
        from kumihimo.hub.places import project_folder
        from kumihimo.operations.servers import hub_folder
        from kumihimo.surfaces.hubs.watched_hub import check

        try:
            folder, _ = hub_folder(door.board, door.owner().place, door.settings.folder)
        except StoreError:
            # The board may be there by the first call, which looks at the files of its project anyway.
            folder = project_folder(door.settings.folder)
        check(folder, door.settings)
        self._door = door
        self.exposed = None
        if expose == "all":
            from kumihimo.surfaces.mcp.exposing import Exposed

            self.exposed = Exposed(door, self._owner, lambda: None)

    async def live(self, server: Server) -> None:
        """Until the conversation is over; then no server that was started is left."""
        import asyncio

        try:
            if self.exposed is not None:
                await self._door.hubs.desk(await self._owner())
                await self._door.hubs.watch(server.changes.tools)
            await asyncio.get_running_loop().create_future()
        finally:
            await self._door.close_hubs()

    async def _owner(self) -> Caller:
        return self._door.owner()


def _callers(door: Door, resident: Resident | None) -> Callable[[Board, Any], Caller]:
    if resident is not None:
        return lambda board, _: resident.caller(board)
    owner = door.owner()
    return lambda _, __: owner


def _close(door: Door, resident: Resident | None) -> None:
    if resident is not None:
        resident.close(words("session_closed", door.language))
    door.close()
