"""Each carrier over HTTP shows its token with all that it sends, and is let in again with another."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from client_kit import US, Bearer, Peer, chunk, greets, http, result, run
from msgspec.structs import replace
from sse_peer import STREAM, TAKEN, SsePeer

from kumihimo.wire.client.authorization.authorization import MOST_REFUSALS
from kumihimo.wire.client.authorization.errors import LoginNeeded
from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ConnectionLost, Refused

CONTENT = [{"type": "text", "text": "fine"}]
REFUSAL = http(b"who?", status="401 Unauthorized", more="WWW-Authenticate: Bearer\r\n")


class Purse(Bearer):
    """As many tokens as one wants, numbered."""

    def __init__(self, most: int = 9) -> None:
        self.number = 0
        self.most = most

    async def token(self, url: str) -> str | None:
        return f"token-{self.number}" if self.number else None

    def lines(self, token: str, method: str, url: str) -> bytes:
        return b"Authorization: Bearer %b\r\n" % token.encode()

    def learn(self, status: int, headers: Mapping[bytes, bytes]) -> bool:
        return False

    async def challenged(
        self, url: str, status: int, headers: Mapping[bytes, bytes], token: str | None, attempt: int
    ) -> bool:
        assert (status, headers[b"www-authenticate"]) == (401, b"Bearer")
        if self.number >= self.most:
            raise LoginNeeded
        if token == (f"token-{self.number}" if self.number else None):
            self.number += 1
        return True


def wants(peer: Peer, token: str, *, cut: bool = False) -> None:
    """Whatever comes with another token is refused, with a connection that is cut in the middle of it if need be."""
    respond = peer._answer

    async def answer(one: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if f"Authorization: Bearer {token}\r\n" in one.heads[-1]:
            await respond(one, request, writer)
        else:
            writer.write(REFUSAL[:-2] if cut else REFUSAL)
            if cut:
                await writer.drain()
                writer.close()

    peer._answer = answer


def test_the_first_carrier_shows_its_token_with_the_stream_and_with_each_message() -> None:
    async def answers(peer: SsePeer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(TAKEN)
        await peer.tell(result(request, content=CONTENT))

    async def test() -> None:
        peer = SsePeer(answers)
        respond = peer._answer
        wants(peer, "token-1")
        async with peer.listening() as url:
            there = replace(url, carrier="sse", authorization=Purse())
            async with await connect(there, US) as session:
                assert (await session.call_tool("any")).text == "fine"
                # The token ends; the stream goes on.
                peer._answer = respond
                wants(peer, "token-2")
                assert (await session.call_tool("any")).text == "fine"
        assert [head.startswith("GET") for head in peer.heads[:3]] == [True, True, False]
        assert peer.methods.count("tools/call") == 3

    run(test())


def test_a_refusal_that_is_cut_is_one() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(http(result(request, content=CONTENT)))

    async def test() -> None:
        peer = greets(then)
        wants(peer, "token-1", cut=True)
        async with (
            peer.listening() as url,
            await connect(replace(url, authorization=Purse()), US) as session,
        ):
            assert (await session.call_tool("any")).text == "fine"

    run(test())


@pytest.mark.parametrize("carrier", ["streamable", "sse"])
def test_a_login_that_is_needed_is_told_whatever_carries_the_call(carrier: str) -> None:
    async def test() -> None:
        peer = SsePeer()
        wants(peer, "none")
        async with peer.listening() as url:
            with pytest.raises(LoginNeeded):
                await connect(replace(url, carrier=carrier, authorization=Purse(0)), US)
        assert len(peer.heads) == 1

    run(test())


def test_nobody_is_asked_for_ever_whatever_is_promised() -> None:
    async def test() -> None:
        peer = SsePeer()
        wants(peer, "none")
        async with peer.listening() as url:
            with pytest.raises(Refused, match="who") as refused:
                await connect(replace(url, authorization=Purse(999)), US)
            assert (refused.value.status, refused.value.delivered) == (401, False)
        assert len(peer.heads) == 1 + MOST_REFUSALS

    run(test())


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "404 Not Found", "405 Method Not Allowed"])
@pytest.mark.parametrize("authorized", [False, True])
def test_a_call_that_was_taken_is_not_sent_again_when_the_rest_of_its_answer_is_refused(
    status: str, authorized: bool
) -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request.get("method") == "tools/call":
            writer.write(STREAM + chunk(b"id: one\nretry: 1\ndata:\n\n"))
            await writer.drain()
            writer.close()
        else:
            writer.write(http(b"", status=status, more="WWW-Authenticate: Bearer\r\n"))

    async def test() -> None:
        peer = greets(then, session="abc")
        async with peer.listening() as url:
            there = replace(url, authorization=Purse(0)) if authorized and "401" in status else url
            async with await connect(there, US) as session:
                with pytest.raises(ConnectionLost) as lost:
                    await session.call_tool("any")
                assert lost.value.delivered
        assert peer.methods.count("tools/call") == 1

    run(test())


def test_the_rest_of_an_answer_is_asked_for_with_a_new_token() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request.get("method") == "tools/call":
            writer.write(STREAM + chunk(b"id: one\nretry: 1\ndata:\n\n"))
            await writer.drain()
            writer.close()
        elif "Bearer token-1" not in peer.heads[-1]:
            writer.write(REFUSAL)
        else:
            call = next(one for one in peer.requests if one.get("method") == "tools/call")
            writer.write(STREAM + chunk(b"data: " + result(call, content=CONTENT) + b"\n\n") + b"0\r\n\r\n")

    async def test() -> None:
        peer = greets(then, session="abc")
        async with (
            peer.listening() as url,
            await connect(replace(url, authorization=Purse()), US) as session,
        ):
            assert (await session.call_tool("any")).text == "fine"
            assert peer.methods.count("tools/call") == 1
            resumed = [head for head in peer.heads if head.startswith("GET")]
            assert all("Last-Event-ID: one\r\n" in head for head in resumed)
            assert len(resumed) == 2

    run(test())
