"""Where grants are kept, by the address of the server that they are for."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from kumihimo.wire.client.authorization.grant import Grant


class Store(Protocol):
    def load(self, server_url: str) -> Grant | None: ...

    def save(self, server_url: str, grant: Grant) -> None: ...

    def forget(self, server_url: str) -> None: ...

    def locked(self, server_url: str) -> AbstractAsyncContextManager[None]:
        """Alone with the grant of a server: whoever renews it must be, since a refresh token is often good only once."""
        ...


class MemoryStore:
    """For as long as the process lives."""

    def __init__(self) -> None:
        self._grants: dict[str, Grant] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def load(self, server_url: str) -> Grant | None:
        return self._grants.get(server_url)

    def save(self, server_url: str, grant: Grant) -> None:
        self._grants[server_url] = grant

    def forget(self, server_url: str) -> None:
        self._grants.pop(server_url, None)

    def locked(self, server_url: str) -> AbstractAsyncContextManager[None]:
        return self._locks[server_url]
