"""The broadcast: follows the board while somebody watches, and writes what happened to everybody at once.

A message is made and framed once, however many watch. Nobody is waited for: who reads too slowly is told so and let go,
and comes back with the cursor of the last message it had.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from kumihimo.domain.errors import CursorInvalid, StoreError
from kumihimo.services.board import Board
from kumihimo.store.events import newer
from kumihimo.surfaces.live import frames
from kumihimo.surfaces.live.messages import Teller, encoded, snapshot, updates

if TYPE_CHECKING:
    from kumihimo.surfaces.mcp.door import Door

# How often streams are looked at while agents work and somebody watches: they ring no bell. Those of this host are told of at
# once; these are the others.
LOOK_SECONDS = 0.1
_LONGEST_SECONDS = 60.0
_AFTER_TROUBLE_SECONDS = 0.5
_PAGE = 500
# Close codes of our own; the range is left to applications.
TOO_SLOW = 4408
CURSOR_UNKNOWN = 4409
GOING_AWAY = 1001
# Frames, each with the cursor of the event that it tells of.
Told = list[tuple[str, bytes]]


class Watcher(Protocol):
    """One client. `write` never waits; `send` does, until what was sent is on its way."""

    def write(self, data: bytes) -> None: ...

    async def send(self, data: bytes) -> None: ...

    def end(self, code: int, reason: str) -> None: ...

    @property
    def open(self) -> bool: ...


class Broadcast:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._watchers: dict[Watcher, str] = {}
        self._cursor: str | None = None
        self._positions: dict[str, int] = {}
        self._following: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ring: asyncio.Future[None] | None = None

    async def join(self, watcher: Watcher, cursor: str | None) -> None:
        """From here on it is told everything: after a snapshot, or from where it was."""
        try:
            if cursor is None:
                cursor, shown = await self._door.elsewhere(_panorama)
                await watcher.send(frames.text(shown))
            else:
                cursor = await self._catch_up(watcher, cursor)
                # Streams are not in the log: how they are by now is told to who comes back.
                await watcher.send(await self._door.elsewhere(lambda board, at=cursor: _running(board, at)))
            while watcher.open and self._cursor is not None and newer(self._cursor, cursor):
                cursor = await self._catch_up(watcher, cursor)
        except CursorInvalid:
            watcher.end(CURSOR_UNKNOWN, "this cursor is not of this board: come back without one")
            return
        if not watcher.open:
            return
        # Without a pause since the last look at where the broadcast is: nothing fits in between.
        self._watchers[watcher] = cursor
        if self._following is None or self._following.done():
            self._cursor = cursor
            self._following = asyncio.get_running_loop().create_task(self._follow())

    def leave(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)

    async def close(self) -> None:
        for watcher in tuple(self._watchers):
            watcher.end(GOING_AWAY, "the server ends; come back with your cursor")
        self._watchers.clear()
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def _catch_up(self, watcher: Watcher, cursor: str) -> str:
        """Tell what happened since, page by page, no faster than it is read. Answers where it stands then."""
        while watcher.open:
            page = await self._door.elsewhere(lambda board, begin=cursor: self._page(board, begin))
            if page is None:
                break
            cursor, told = page
            await watcher.send(b"".join(frame for _, frame in told))
        return cursor

    @property
    def _standing(self) -> str:
        assert self._cursor is not None, "set by the first who joined"
        return self._cursor

    def streams_grew(self) -> None:
        """From any thread: more is known of what agents on this host print."""
        if self._loop is not None and self._watchers:
            with suppress(RuntimeError):
                # The loop may have ended just now: then nobody watches.
                self._loop.call_soon_threadsafe(self._look_now)

    def _look_now(self) -> None:
        if self._ring is not None and not self._ring.done():
            self._ring.set_result(None)

    async def _follow(self) -> None:
        """While somebody watches."""
        self._loop = asyncio.get_running_loop()
        while self._watchers:
            ring = self._ring = self._door.alarm.next()
            try:
                page = await self._door.elsewhere(lambda board, begin=self._standing: self._page(board, begin))
                if page is not None:
                    self._tell(page[1])
                    self._cursor = page[0]
                await self._look_at_streams()
            except StoreError:
                # Away for a moment, a full disk: whoever watches waits with us.
                ring.cancel()
                await asyncio.sleep(_AFTER_TROUBLE_SECONDS)
                continue
            if page is not None:
                ring.cancel()
            else:
                await self._door.alarm.wait(ring, LOOK_SECONDS if self._positions else _LONGEST_SECONDS)
        self._positions = {}

    async def _look_at_streams(self) -> None:
        known, cursor = self._positions, self._standing
        found, told = await self._door.elsewhere(lambda board: _streams(board, known, cursor))
        self._positions = found
        if told:
            self._write(told)

    def _page(self, board: Board, cursor: str) -> tuple[str, Told] | None:
        """Where the next events end, and what is told of them; None where there are none."""
        events = board.store.events_after(cursor, _PAGE)
        if not events:
            return None
        messages = Teller(self._door.settings, board, events).messages(cursor)
        return events[-1].cursor, [(at, frames.text(encoded(message))) for at, message in messages]

    def _tell(self, told: Told) -> None:
        whole = b"".join(frame for _, frame in told)
        for watcher, known in tuple(self._watchers.items()):
            if newer(known, self._standing):
                # It has read ahead of us: what it knows is not told again.
                watcher.write(b"".join(frame for at, frame in told if newer(at, known)))
            else:
                watcher.write(whole)

    def _write(self, data: bytes) -> None:
        for watcher in tuple(self._watchers):
            watcher.write(data)


def _panorama(board: Board) -> tuple[str, bytes]:
    seen = board.watch.panorama()
    return seen.cursor, encoded(snapshot(seen))


def _running(board: Board, cursor: str) -> bytes:
    return _framed_updates(board, set(board.watch.positions()), cursor)


def _streams(board: Board, known: dict[str, int], cursor: str) -> tuple[dict[str, int], bytes]:
    """How far streams are by now, and the frames of those that have gone on."""
    found = board.watch.positions()
    grown = {run for run, position in found.items() if known.get(run) != position}
    return found, _framed_updates(board, grown, cursor)


def _framed_updates(board: Board, runs: set[str], cursor: str) -> bytes:
    if not runs:
        return b""
    sights = board.watch.runs(runs).values()
    return b"".join(frames.text(encoded(message)) for message in updates(sights, cursor))
