"""Our own server by every carrier and in every era that the carrier has."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from bridges import SAID, ours_on_sse, ours_on_websocket
from client_kit import US, ours_on_http, ours_on_stdio

from kumihimo.wire.client.connect import Era, connect
from kumihimo.wire.client.session import Session
from kumihimo.wire.client.targets import Target, Url
from tests.wire.wire_kit import CANCELLED

ERAS: dict[Era, str] = {"auto": "2026-07-28", "handshake": "2025-11-25"}
WAYS = [(transport, era) for transport in ("stdio", "http", "websocket") for era in ERAS] + [("sse", "handshake")]
everywhere = pytest.mark.parametrize(("transport", "era"), WAYS, ids=["-".join(way) for way in WAYS])


@contextlib.asynccontextmanager
async def target(transport: str) -> AsyncIterator[Target]:
    if transport == "stdio":
        yield ours_on_stdio()
    elif transport == "sse":
        async with ours_on_sse() as url:
            yield Url(url=url, carrier="sse")
    elif transport == "websocket":
        async with ours_on_websocket() as url:
            yield Url(url=url)
    else:
        async with ours_on_http() as url:
            yield Url(url=url)


@contextlib.asynccontextmanager
async def session_with(transport: str, era: Era, **options: Any) -> AsyncIterator[Session]:
    async with target(transport) as there, await connect(there, US, era=era, **options) as session:
        yield session


def cancelled(transport: str, session: Session) -> bool:
    """Whether the server has heard that nobody waits any more."""
    if transport == "http":
        return bool(CANCELLED)
    said = session._carrier.errors if transport == "stdio" else "".join(SAID)  # type: ignore[attr-defined]
    return "cancelled" in said
