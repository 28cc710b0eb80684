"""What wakes the supervisor from outside: the store's bell, and whoever wants it to end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from kumihimo.store.bell import Bell

_LISTEN_SECONDS = 1.0


class Wake:
    """Descriptors that become readable: a pipe, and the bell's own where it has one. Where it has none, a thread listens to
    the bell and writes to the pipe."""

    def __init__(self, open_bell: Callable[[], Bell]) -> None:
        self._reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._over = threading.Event()
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
            if self._bell.wait(_LISTEN_SECONDS):
                self.ring()
