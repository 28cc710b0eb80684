"""The bell: wakes who waits for events, within a fraction of a millisecond and at no cost while nothing happens.

SQLite: a file beside the database gets one byte after each commit, and inotify tells. Where there is no inotify, the
database's own change counter is looked at every 25 ms. PostgreSQL: LISTEN.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from kumihimo.domain.errors import StoreUnreachable
from kumihimo.store.store import Store

_IN_MODIFY = 0x2
_IN_CLOEXEC = 0o2000000
_IN_NONBLOCK = 0o4000
_POLL_SECONDS = 0.025
_DEAF_SECONDS = 0.25


class Bell(Protocol):
    @property
    def descriptor(self) -> int | None:
        """What becomes readable when it is rung, for who can wait for several things at once; not every bell has one."""
        ...

    def wait(self, seconds: float) -> bool:
        """True as soon as something was rung since the last wait; False after so many seconds."""
        ...

    def close(self) -> None: ...


class InotifyBell:
    def __init__(self, path: Path) -> None:
        import ctypes

        path.touch(mode=0o600)
        libc: Any = ctypes.CDLL(None, use_errno=True)
        self._file: int = libc.inotify_init1(_IN_CLOEXEC | _IN_NONBLOCK)
        if self._file < 0 or libc.inotify_add_watch(self._file, os.fsencode(path), _IN_MODIFY) < 0:
            self.close()
            raise OSError(ctypes.get_errno(), "inotify is not to be had")

    @property
    def descriptor(self) -> int | None:
        return self._file

    def wait(self, seconds: float) -> bool:
        # Not select(): that knows only the first 1,024 descriptors.
        poll = select.poll()
        poll.register(self._file, select.POLLIN)
        if not poll.poll(max(0.0, seconds) * 1000):
            return False
        os.read(self._file, 65536)
        return True

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class PollingBell:
    """Looks at a number that changes whenever another connection has committed."""

    descriptor = None

    def __init__(self, version: Callable[[], int], close: Callable[[], None]) -> None:
        self._version = version
        self._seen = version()
        self.close = close

    def wait(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while True:
            seen, self._seen = self._seen, self._version()
            if seen != self._seen:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(_POLL_SECONDS, left))


class ListeningBell:
    """A PostgreSQL connection of its own, which hears the notices; opened again when it was lost."""

    # Its connection has one, but it is another one after each reconnection.
    descriptor = None

    def __init__(self, listen: Callable[[], Any]) -> None:
        self._listen = listen
        self._connection = listen()

    def wait(self, seconds: float) -> bool:
        from psycopg import OperationalError

        try:
            if self._connection.closed:
                self._connection = self._listen()
                # Something may have been rung while nobody listened.
                return True
            return bool(list(self._connection.notifies(timeout=seconds, stop_after=1)))
        except (OperationalError, StoreUnreachable):
            self._connection.close()
            time.sleep(min(seconds, _DEAF_SECONDS))
            return False

    def close(self) -> None:
        self._connection.close()


def bell_of(store: Store) -> Bell:
    """The best bell that this store has here."""
    connection: Any = store.connection
    if connection.dialect.name == "postgres":
        return ListeningBell(connection.listen)
    if sys.platform == "linux":
        try:
            return InotifyBell(connection.bell)
        except OSError:
            # Too many watches of this user, or a kernel without: slower, but it rings.
            pass
    watcher = connection.another()
    return PollingBell(lambda: watcher.execute("PRAGMA data_version")[0][0], watcher.close)
