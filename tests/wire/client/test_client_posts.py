"""What is posted beside the calls: a server that does not take it costs no more than a few connections for a while."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from bridges import STREAM
from client_kit import US, Peer, bad_on_stdio, chunk, greets, http, result, run, until
from msgspec.structs import replace
from sse_peer import TAKEN, SsePeer

from kumihimo.wire.client import posts
from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ConnectionFailed, ConnectionLost, TimedOut
from kumihimo.wire.client.session import Session
from kumihimo.wire.client.targets import Url

CONTENT = [{"type": "text", "text": "fine"}]
MANY = 20


def under_way(session: Session) -> int:
    return len(session._carrier._pool._busy)  # type: ignore[attr-defined]


async def nothing(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    """Takes it and says nothing."""


async def taken(peer: SsePeer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    writer.write(TAKEN)


def peer_of(carrier: str) -> Peer:
    return SsePeer(taken) if carrier == "sse" else greets(nothing)


def let_cancellations(peer: Peer, answer: bytes) -> None:
    """Answer them so, and everything else as before."""
    before = peer._answer

    async def respond(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request.get("method") == "notifications/cancelled":
            writer.write(answer)
        else:
            await before(peer, request, writer)

    peer._answer = respond


def to(url: Url, carrier: str, **options: Any) -> Url:
    return replace(url, carrier=carrier, **options)


@pytest.mark.parametrize("carrier", ["streamable", "sse"])
def test_who_is_not_heard_that_an_answer_is_not_wanted_is_told_for_a_while_and_by_few_at_once(
    carrier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posts, "SECONDS", 0.2)

    async def test() -> None:
        peer = peer_of(carrier)
        let_cancellations(peer, b"")
        async with peer.listening() as url, await connect(to(url, carrier), US) as session:
            stays = 1 if carrier == "sse" else 0
            for _ in range(MANY):
                with pytest.raises(TimedOut):
                    await session.call_tool("any", seconds=0.01)
                # Those of the last calls may be known as closed a turn later.
                assert under_way(session) <= stays + posts.AT_ONCE + 3
            await until(lambda: under_way(session) == stays)
            assert peer.methods.count("notifications/cancelled") > posts.AT_ONCE

    run(test())


@pytest.mark.parametrize("carrier", ["streamable", "sse"])
def test_an_endless_answer_to_what_needs_none_is_not_read(carrier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posts, "SECONDS", 1000.0)

    async def test() -> None:
        peer = peer_of(carrier)
        let_cancellations(peer, b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 20_000)
        async with peer.listening() as url, await connect(to(url, carrier, most_bytes=10_000), US) as session:
            with pytest.raises(TimedOut):
                await session.call_tool("any", seconds=0.05)
            await until(lambda: "notifications/cancelled" in peer.methods)
            await until(lambda: under_way(session) == (1 if carrier == "sse" else 0))

    run(test())


def pings(most: int) -> list[bytes]:
    return [b'{"jsonrpc":"2.0","id":"p%d","method":"ping"}' % number for number in range(most)]


def test_what_a_server_asks_is_answered_by_few_at_once_and_all_of_it() -> None:
    many, highest = 300, 0

    async def test() -> None:
        async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
            nonlocal highest
            if request.get("method") == "tools/call":
                writer.write(STREAM + chunk(b"".join(b"data: %b\n\n" % ping for ping in pings(many))))
                calls.append((request, writer))
                return
            highest = max(highest, under_way(session))
            writer.write(TAKEN)
            answered.append(request["id"])
            if len(answered) == many:
                request, waiting = calls[0]
                waiting.write(chunk(b"data: %b\n\n" % result(request, content=CONTENT)) + b"0\r\n\r\n")

        calls: list[tuple[dict[str, Any], asyncio.StreamWriter]] = []
        answered: list[str] = []
        async with greets(then).listening() as url, await connect(url, US) as session:
            assert (await session.call_tool("any")).text == "fine"
            assert sorted(answered) == sorted(f"p{number}" for number in range(many))
            assert 1 <= highest <= posts.AT_ONCE + 1

    run(test())


def test_a_call_is_lost_whose_server_does_not_take_the_answers_to_what_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posts, "MOST_WAITING", 100)

    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request.get("method") == "tools/list":
            writer.write(http(result(request, tools=[])))
        elif request.get("method") == "tools/call":
            writer.write(STREAM + chunk(b"".join(b"data: %b\n\n" % ping for ping in pings(200))))

    async def test() -> None:
        async with greets(then).listening() as url, await connect(url, US) as session:
            with pytest.raises(ConnectionLost, match="does not take the answers") as lost:
                await session.call_tool("any")
            assert lost.value.delivered
            assert under_way(session) <= posts.AT_ONCE
            assert await session.list_tools() == []

    run(test())


def test_an_old_session_is_lost_whose_server_does_not_take_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posts, "MOST_WAITING", 100)

    async def then(peer: SsePeer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request.get("method") == "tools/call":
            for ping in pings(200):
                await peer.tell(ping)

    async def test() -> None:
        async with SsePeer(then).listening() as url, await connect(to(url, "sse"), US) as session:
            with pytest.raises(ConnectionLost, match="does not take the answers") as lost:
                await session.call_tool("any")
            assert lost.value.delivered
            with pytest.raises(ConnectionFailed, match="does not take the answers"):
                await session.call_tool("any")

    run(test())


def test_a_process_that_asks_and_reads_nothing_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        target = bad_on_stdio("pings", most_bytes=1_000_000, grace_seconds=0.2)
        async with await connect(target, US) as session:
            with pytest.raises(ConnectionLost, match="does not read") as lost:
                await session.call_tool("any")
            assert lost.value.delivered
            with pytest.raises(ConnectionFailed, match="does not read"):
                await session.call_tool("any")
            await session.listen()
        assert caplog.messages == []

    run(test())


def test_nothing_is_answered_into_a_pipe_that_is_being_closed(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        session = await connect(bad_on_stdio("pings", grace_seconds=0.2), US)
        calling = asyncio.ensure_future(session.call_tool("any"))
        await until(lambda: session._carrier._writing.crowded)  # type: ignore[attr-defined]
        await session.close()
        with pytest.raises(ConnectionLost):
            await calling
        assert caplog.messages == []

    run(test())
