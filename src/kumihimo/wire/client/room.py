"""Holds whoever sends while the other side is behind with reading."""

from __future__ import annotations

import asyncio


class Room(asyncio.BaseProtocol):
    def __init__(self) -> None:
        self._room = asyncio.Event()
        self._room.set()
        self.closed = False

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the base class's signature
        self.closed = True
        self._room.set()

    @property
    def crowded(self) -> bool:
        return not self._room.is_set()

    async def room(self) -> None:
        await self._room.wait()
