"""The bell of a PostgreSQL: a connection of its own that hears notices, and what is done while there is none."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

from kumihimo.domain.errors import StoreUnreachable

# What is said with a notice after which hosts may have something to do.
WORK = "work"
# How soon who waits looks for himself while nobody hears.
_DEAF_SECONDS = 0.5
# Every host of a board loses its connection at once: not all of them come back at once.
_PAUSE_SECONDS = (0.5, 1.5)


class ListeningBell:
    """While it is deaf it says every now and then that it may have been rung: a look too many does no harm."""

    # Its connection has one, but it is another one after each reconnection.
    descriptor = None

    def __init__(self, listen: Callable[[], Any], *, work: bool = False) -> None:
        self._listen = listen
        self._work = work
        self._connection: Any = None
        self._search: _Search | None = None
        try:
            self._connection = listen()
        except StoreUnreachable:
            self._search = _Search(listen)

    def wait(self, seconds: float) -> bool:
        from psycopg import OperationalError

        if self._search is not None:
            self._connection = self._search.found(min(seconds, _DEAF_SECONDS))
            self._search = None if self._connection is not None else self._search
            # Also at its end: something may have been rung while nobody listened.
            return True
        try:
            return self._heard(seconds)
        except OperationalError:
            self._connection.close()
            self._search = _Search(self._listen)
            return True

    def _heard(self, seconds: float) -> bool:
        """Many hosts hear of everything that happens on the board. Who only waits for work is not woken by the rest."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(0.0, deadline - time.monotonic())
            notices = list(self._connection.notifies(timeout=left, stop_after=1))
            if not notices or not self._work or any(notice.payload == WORK for notice in notices):
                return bool(notices)

    def close(self) -> None:
        if self._search is not None:
            self._search.call_off()
        elif self._connection is not None:
            self._connection.close()


class _Search:
    """Beside who waits: to find out that a server is not there may take longer than anybody may wait for news."""

    def __init__(self, listen: Callable[[], Any]) -> None:
        self._listen = listen
        self._found: Any = None
        self._over = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._run, name="kumi-listen", daemon=True).start()

    def found(self, seconds: float) -> Any:
        """The connection, as soon as there is one; None after so many seconds."""
        self._ended.wait(seconds)
        return self._found

    def call_off(self) -> None:
        with self._lock:
            self._over.set()
            if self._found is not None:
                self._found.close()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                found = self._listen()
            except StoreUnreachable:
                self._over.wait(random.uniform(*_PAUSE_SECONDS))  # noqa: S311 - jitter, not a secret
                continue
            with self._lock:
                if self._over.is_set():
                    found.close()
                self._found = found
            self._ended.set()
            return
