"""What wakes the supervisor from outside: the store's bell, and whoever wants it to end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress

from kumihimo.domain.errors import StoreError
from kumihimo.store.bell import Bell

_LISTEN_SECONDS = 1.0
# A notice wakes everybody who listens, and costs the database the more the more there are: among so many hosts nobody
# listens, and each looks now and then. Together they look so often that somebody is never far.
CROWD = 30


class Wake:
    """Descriptors that become readable: a pipe, and the bell's own where it has one. Where it has none, a thread listens to
    the bell and writes to the pipe."""

    def __init__(self, open_bell: Callable[[], Bell]) -> None:
        self._reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._over = threading.Event()
        # Whether there are so many hosts that none of them listens any more.
        self.crowded = False
        self._open_bell = open_bell
        self._bell = open_bell()
        self._thread: threading.Thread | None = None
        if self._bell.descriptor is None:
            self._thread = threading.Thread(target=self._listen, name="kumi-bell", daemon=True)
            self._thread.start()

    @property
    def descriptors(self) -> tuple[int, ...]:
        bell = self._bell.descriptor
        return (self._reading,) if bell is None else (self._reading, bell)

    def ring(self) -> None:
        """From any thread."""
        try:
            os.write(self._writing, b".")
        except BlockingIOError:
            # Full: it has not been looked at yet, so it will be.
            return

    def clear(self) -> bool:
        """Whether it was rung since the last time."""
        rung = self._thread is None and self._bell.wait(0.0)
        try:
            return bool(os.read(self._reading, 65536)) or rung
        except BlockingIOError:
            return rung

    def close(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._bell.close()
        os.close(self._reading)
        os.close(self._writing)

    def _listen(self) -> None:
        while not self._over.is_set():
            if self.crowded:
                self._hear_nothing()
            elif self._bell.wait(_LISTEN_SECONDS):
                self.ring()

    def _hear_nothing(self) -> None:
        self._bell.close()
        while not self._over.wait(_LISTEN_SECONDS):
            if not self.crowded:
                with suppress(StoreError):
                    # Where it can't be had now, it is tried again.
                    self._bell = self._open_bell()
                    # Something may have come meanwhile.
                    self.ring()
                    return
