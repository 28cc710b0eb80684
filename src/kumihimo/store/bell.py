"""The bell: wakes who waits for events, within a fraction of a millisecond and at no cost while nothing happens.

SQLite: a file beside the database gets one byte after each commit, and inotify tells. Where there is no inotify, the
database's own change counter is looked at every 25 ms. PostgreSQL: LISTEN, and behind a pooler, which lets no notice
through, a look at the log twice a second.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from kumihimo.domain.errors import StoreError
from kumihimo.store.listening import ListeningBell
from kumihimo.store.store import Store

_IN_MODIFY = 0x2
_IN_CLOEXEC = 0o2000000
_IN_NONBLOCK = 0o4000
_POLL_SECONDS = 0.025
_POLL_SERVER_SECONDS = 0.5


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
    """Looks at something that changes whenever another connection has committed."""

    descriptor = None

    def __init__(self, version: Callable[[], object], close: Callable[[], None], every: float = _POLL_SECONDS) -> None:
        self._version = version
        self._every = every
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
            time.sleep(min(self._every, left))


def bell_of(store: Store, *, work: bool = False) -> Bell:
    """The best bell that this store has here; for who does the `work` one that is silent while there is none, where there is
    such a bell."""
    connection: Any = store.connection
    if connection.dialect.name == "postgres":
        return ListeningBell(connection.listen, work=work) if connection.hears else _asking_bell(connection)
    if sys.platform == "linux":
        try:
            return InotifyBell(connection.bell)
        except OSError:
            # Too many watches of this user, or a kernel without: slower, but it rings.
            pass
    watcher = connection.another()
    return PollingBell(lambda: watcher.execute("PRAGMA data_version")[0][0], watcher.close)


def _asking_bell(connection: Any) -> PollingBell:
    watcher = connection.another()

    def version() -> object:
        try:
            watcher.ready()
            return watcher.stirred()
        except Exception as error:
            # Who waits looks for himself too, and is told then.
            if isinstance(watcher.translate(error), StoreError):
                return None
            raise

    return PollingBell(version, watcher.close, _POLL_SERVER_SECONDS)
