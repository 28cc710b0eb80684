"""A follower: a thread of the host process that reads the log, each event once and in order, also over restarts.

It has a connection of its own and keeps nobody waiting. What it does for an event is done again only where the process was
killed between doing it and noting that it was done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Protocol

import msgspec

from kumihimo.app import open_board
from kumihimo.domain.errors import CursorInvalid, KumihimoError
from kumihimo.domain.event import Event
from kumihimo.services.board import Board
from kumihimo.settings import Settings
from kumihimo.store.bell import bell_of
from kumihimo.store.feed import Feed
from kumihimo.surfaces.host.bookmark import Bookmark
from kumihimo.surfaces.host.journal import Journal

# How long to look for the next event before looking whether to end.
_LOOK_SECONDS = 1.0
# A breath between two looks: what happens in bursts is read in one go.
_BREATH_SECONDS = 0.1
# Where nothing was done there is no hurry to note how far it was read.
_NOTE_SECONDS = 1.0
# How long a board that can't be reached is left alone.
_AWAY_SECONDS = 5.0
_FAREWELL_SECONDS = 2.0


class Reader(Protocol):
    def open(self, board: Board) -> None:
        """Before the first event, in the thread that reads."""
        ...

    def read(self, event: Event, over: threading.Event) -> bool:
        """Whether something was done that is not to be done twice. Where `over` was set in the middle, it is not noted."""
        ...

    def flush(self) -> bool:
        """Between two looks at the log: whether everything that was read is settled, and need not be read again."""
        ...

    def close(self) -> None:
        """After the last event."""
        ...


class Follower:
    def __init__(self, settings: Settings, name: str, make: Callable[[], Reader], journal: Journal) -> None:
        self._settings = settings
        self._name = name
        self._reader = make
        self._journal = journal
        self._bookmark = Bookmark(settings.state_folder / "followers" / f"{name}.json", settings.database)
        self._over = threading.Event()
        self._forgetful = False
        # Not waited for to the end: a receiver may be slow, and what was not noted is done next time.
        self._thread = threading.Thread(target=self._run, name=f"kumi-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Ask it to end."""
        self._over.set()

    def close(self) -> None:
        self.end()
        if self._thread.is_alive():
            self._thread.join(_FAREWELL_SECONDS)

    def _run(self) -> None:
        complained = False
        while not self._over.is_set():
            try:
                self._follow()
            except KumihimoError as error:
                if not complained:
                    self._journal.note("warning", "follower.away", f"{self._name}: {error}")
                complained = True
                self._over.wait(_AWAY_SECONDS)

    def _follow(self) -> None:
        board = open_board(self._settings)
        try:
            reader = self._reader()
            reader.open(board)
            try:
                with closing(bell_of(board.store)) as bell:
                    self._read(Feed(board.store, bell, self._begin(board)), reader)
            finally:
                reader.close()
        finally:
            board.store.close()

    def _begin(self, board: Board) -> str:
        """Noted at once: what happens from now on is not missed, even if nothing is done before we are killed."""
        cursor = self._bookmark.read()
        if cursor is not None:
            try:
                board.store.events_after(cursor, 1)
            except CursorInvalid:
                self._journal.note("warning", "follower.lost", f"{self._name} begins anew: the log is another one")
                cursor = None
        cursor = cursor or board.store.newest_cursor()
        self._note(cursor)
        return cursor

    def _read(self, feed: Feed, reader: Reader) -> None:
        reached = feed.cursor
        note_at = 0.0
        while not self._over.is_set():
            events = feed.next(_LOOK_SECONDS)
            for event in events:
                done = self._hand(event, reader)
                if self._over.is_set() and not done:
                    break
                reached = event.cursor
                if done:
                    self._note(reached)
            if reader.flush() and (not events or time.monotonic() > note_at):
                self._note(reached)
                note_at = time.monotonic() + _NOTE_SECONDS
            if events:
                self._over.wait(_BREATH_SECONDS)
        if reader.flush():
            self._note(reached)

    def _hand(self, event: Event, reader: Reader) -> bool:
        try:
            return reader.read(event, self._over)
        except msgspec.ValidationError as error:
            # Written by another version. To stop here would be to stop for ever.
            self._journal.note("error", "follower.unreadable", f"{self._name}: {error}", kind=event.kind)
            return False

    def _note(self, cursor: str | None) -> None:
        try:
            if cursor is not None:
                self._bookmark.keep(cursor)
        except OSError as error:
            if not self._forgetful:
                self._journal.note(
                    "warning",
                    "follower.forgetful",
                    f"{self._name}: how far it was read can't be noted: {error.strerror}",
                )
            self._forgetful = True
