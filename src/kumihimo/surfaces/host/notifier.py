"""The notifier: tells people what the log says that they want to hear, on every channel that the settings have.

Each channel follows the log by itself, so that a receiver who does not answer holds up no other. The log is the queue: what
waits to be told takes no memory, and is still there after a crash.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from kumihimo.domain.event import Event
from kumihimo.domain.notice import Notice
from kumihimo.engine.notifying.channel import Channel, Undelivered
from kumihimo.engine.notifying.channels import open_channels
from kumihimo.services.board import Board
from kumihimo.services.notices import Notices
from kumihimo.settings import Settings
from kumihimo.surfaces.host.bookmark import Bookmark
from kumihimo.surfaces.host.follower import Follower
from kumihimo.surfaces.host.journal import Journal

NAMES = ("webhook", "command", "desktop")
# Between two tries of the same notice. After the last it is given up, and the next has its turn.
WAITS: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


class Teller:
    """One channel, as a reader of the log."""

    def __init__(
        self, channel: Channel, settings: Settings, url: str | None, journal: Journal, waits: Sequence[float]
    ) -> None:
        self._channel = channel
        self._settings = settings
        self._url = url
        self._journal = journal
        self._waits = waits

    def open(self, board: Board) -> None:
        self._notices = Notices(board.store, self._settings.language, self._url)

    def read(self, event: Event, over: threading.Event) -> bool:
        wanted = [notice for notice in self._notices.of(event) if notice.kind in self._channel.kinds]
        return bool(wanted) and all(self._tell(notice, over) for notice in wanted)

    def flush(self) -> bool:
        return True

    def close(self) -> None:
        pass

    def _tell(self, notice: Notice, over: threading.Event) -> bool:
        """Whether it is settled: it arrived, or was given up. Not where we are to end in the middle."""
        name = self._channel.name
        for wait in (*self._waits, None):
            try:
                self._channel.tell(notice)
            except Undelivered as error:
                if wait is None or not error.again:
                    self._journal.note("warning", "notice.given_up", f"{name}: {error}", notice=notice.id)
                    return True
                self._journal.note("debug", "notice.tried", f"{name}: {error}", notice=notice.id)
                if over.wait(wait):
                    return False
            else:
                self._journal.note("debug", "notice.told", notice.title, channel=name, notice=notice.id)
                return True
        raise AssertionError("the last try returns")


def notifiers(settings: Settings, url: str | None, journal: Journal, waits: Sequence[float] = WAITS) -> list[Follower]:
    """A follower for each channel that can work. Who can't is complained about, and keeps nothing else from working."""
    opened = open_channels(settings.notifications, os.environ)
    for name, problem in opened.problems.items():
        journal.note("warning", "notice.channel_off", f"notifications by {name} are off: {problem}")
    on = {channel.name: channel for channel in opened.channels}
    for name in NAMES:
        if name not in on and name not in opened.problems:
            _forget(settings, name, journal)
    return [
        Follower(settings, f"notices-{name}", lambda it=channel: Teller(it, settings, url, journal, waits), journal)
        for name, channel in on.items()
    ]


def _forget(settings: Settings, name: str, journal: Journal) -> None:
    """Switched off: who switches it on again does not want to hear of all that happened in between."""
    try:
        Bookmark(settings.state_folder / "followers" / f"notices-{name}.json", settings.database).drop()
    except OSError as error:
        journal.note("warning", "follower.forgetful", f"notices-{name}: {error.strerror}")
