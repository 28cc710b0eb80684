"""A load balancer as simple as they come: each connection goes to the next door, and nothing is looked at."""

from __future__ import annotations

import select
import socket
import threading
from collections import Counter
from types import TracebackType
from typing import Self


class Relay:
    """`used` counts the connections that each door got."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = ports
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.used: Counter[int] = Counter()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._serving: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in (self._thread, *self._serving):
            thread.join(30)

    def _accept(self) -> None:
        turn = 0
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            port = self._ports[turn % len(self._ports)]
            turn += 1
            self.used[port] += 1
            serving = threading.Thread(target=_join, args=(client, port), daemon=True)
            serving.start()
            self._serving.append(serving)


def _join(client: socket.socket, port: int) -> None:
    """Everything that either says goes to the other, until one of them is gone."""
    with client, socket.create_connection(("127.0.0.1", port), 30) as server:
        others = {client: server, server: client}
        while True:
            for one in select.select(list(others), [], [])[0]:
                try:
                    data = one.recv(1 << 16)
                    others[one].sendall(data)
                except OSError:
                    data = b""
                if not data:
                    return
