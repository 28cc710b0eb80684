"""Servers that take nothing more: nobody waits for a way to them longer than for an answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from client_kit import BOUND, US, Peer, bad_on_stdio, greets, run, until
from websocket_peer import WebSocketPeer

from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ClientError, ConnectionFailed, ConnectionLost, TimedOut
from kumihimo.wire.client.http_connection import HttpConnection
from kumihimo.wire.client.http_pool import HttpPool
from kumihimo.wire.client.session import Session

LONG = {"text": "x" * 5_000_000}
SHORT = 0.1


async def nothing_is_taken_any_more(session: Session) -> None:
    """The first call stops it, the second fills all the room that there is; of those that follow nothing is sent."""
    async with session, asyncio.timeout(BOUND):
        for arguments in ({}, LONG):
            with pytest.raises(TimedOut) as late:
                await session.call_tool("any", arguments, seconds=SHORT)
            assert late.value.delivered
        for _ in range(2):
            with pytest.raises(TimedOut) as late:
                await session.call_tool("any", seconds=SHORT)
            assert not late.value.delivered
        with pytest.raises(TimedOut):
            await session.list_tools()
        waiting = asyncio.ensure_future(session.call_tool("any", seconds=0))
        await until(lambda: session._dialogue.calls)
        await session.close()
        with pytest.raises(ClientError, match="closed") as closed:
            await waiting
        assert not closed.value.delivered


def test_a_process_that_has_stopped_reading_is_waited_for_no_longer_than_a_call_may_take() -> None:
    async def test() -> None:
        session = await connect(bad_on_stdio("deaf"), US, seconds=SHORT)
        await nothing_is_taken_any_more(session)

    run(test())


def test_a_websocket_that_has_stopped_reading_is_waited_for_no_longer_than_a_call_may_take() -> None:
    held = asyncio.Event()

    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        await held.wait()

    async def test() -> None:
        async with WebSocketPeer(then).listening() as url:
            await nothing_is_taken_any_more(await connect(url, US, seconds=SHORT))
            held.set()

    run(test())


def test_a_connection_that_is_not_made_is_waited_for_no_longer_than_a_call_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(pool: HttpPool) -> HttpConnection:
        await asyncio.Event().wait()
        raise AssertionError

    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        """Nothing."""

    async def test() -> None:
        peer = greets(then)
        async with peer.listening() as url, await connect(url, US) as session, asyncio.timeout(BOUND):
            monkeypatch.setattr(HttpPool, "connect", never)
            monkeypatch.setattr(HttpPool, "ready", lambda _: None)
            with pytest.raises(TimedOut) as late:
                await session.call_tool("any", seconds=SHORT)
            assert not late.value.delivered
            monkeypatch.undo()
            assert "tools/call" not in peer.methods

    run(test())


def test_who_stops_waiting_for_a_server_that_is_going_calls_that_off_for_nobody_else() -> None:
    async def test() -> None:
        session = await connect(bad_on_stdio("mute", grace_seconds=1.0), US)
        patient = asyncio.ensure_future(session.call_tool("any", seconds=BOUND))
        await until(lambda: session._carrier._telling is not None)
        with pytest.raises((TimedOut, ConnectionFailed)):
            await session.call_tool("any", seconds=0.05)
        with pytest.raises(ConnectionLost, match="closed its output"):
            await patient
        with pytest.raises(ConnectionFailed):
            await session.call_tool("any")
        await session.close()

    run(test())
