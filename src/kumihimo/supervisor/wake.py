"""What wakes the supervisor from outside: the store's bell, and whoever wants it to end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from kumihimo.store.bell import Bell

_LISTEN_SECONDS = 1.0


class Wake:
    """A pipe that becomes readable. One thread listens to the bell and writes to it."""

    def __init__(self, open_bell: Callable[[], Bell]) -> None:
        self.reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._open_bell = open_bell
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="kumi-bell", daemon=True)
        self._ready = threading.Event()
        self._thread.start()
        # What is rung from here on is heard.
        self._ready.wait()

    def ring(self) -> None:
        try:
            os.write(self._writing, b".")
        except BlockingIOError:
            # Full: it has not been looked at yet, so it will be.
            return

    def clear(self) -> bool:
        """Whether it was rung since the last time."""
        try:
            return bool(os.read(self.reading, 65536))
        except BlockingIOError:
            return False

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        os.close(self.reading)
        os.close(self._writing)

    def _listen(self) -> None:
        try:
            bell = self._open_bell()
        finally:
            self._ready.set()
        try:
            while not self._over.is_set():
                if bell.wait(_LISTEN_SECONDS):
                    self.ring()
        finally:
            bell.close()
