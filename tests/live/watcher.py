"""Somebody who watches a home by `/ws`, with a client that is not ours."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from kumihimo.services.hosting import Running

BOUND_SECONDS = 60.0


class Watcher:
    """Keeps everything that it was told."""

    def __init__(self, running: Running, home: Path, cursor: str | None = None, **headers: str) -> None:
        token = (home / "token").read_text().strip()
        query = "" if cursor is None else f"?cursor={cursor}"
        self._held = ExitStack()
        opening = connect(
            f"ws://127.0.0.1:{running.port}/ws{query}",
            additional_headers={"authorization": f"Bearer {token}", **headers},
            max_size=None,
            open_timeout=BOUND_SECONDS,
            ping_interval=None,
        )
        self.connection: ClientConnection = self._held.enter_context(opening)
        self.told: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._held.close()

    def next(self) -> dict[str, Any]:
        message = json.loads(self.connection.recv(timeout=BOUND_SECONDS))
        assert set(message) == {"type", "data", "cursor"}
        self.told.append(message)
        return message

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message that is so; what comes before it is kept as well."""
        deadline = time.monotonic() + BOUND_SECONDS
        while time.monotonic() < deadline:
            message = self.next()
            if wanted(message):
                return message
        raise AssertionError(f"it was not told: {[message['type'] for message in self.told]}")

    def until_closed(self) -> tuple[int, str]:
        """The code and the reason with which the server ends it."""
        try:
            while True:
                self.next()
        except ConnectionClosed as closed:
            return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (0, "")

    def until_type(self, kind: str) -> dict[str, Any]:
        return self.until(lambda message: message["type"] == kind)

    @property
    def cursor(self) -> str:
        return self.told[-1]["cursor"]

    def types(self, without: tuple[str, ...] = ("agent:status_update",)) -> list[str]:
        return [message["type"] for message in self.told if message["type"] not in without]
