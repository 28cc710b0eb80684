"""The HTTP carrier of the first revision: one stream for everything that comes, a POST for each message that goes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from client_kit import US, Pass, Peer, greeting, http, result, run, until
from msgspec.structs import replace
from sse_peer import STREAM, TAKEN, SsePeer, event

from kumihimo.wire.client.connect import Era, connect
from kumihimo.wire.client.errors import ConnectionFailed, ConnectionLost, Refused, TimedOut
from kumihimo.wire.client.targets import Url
from kumihimo.wire.errors import RpcError

CONTENT = [{"type": "text", "text": "fine"}]


async def answers(peer: SsePeer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    writer.write(TAKEN)
    await peer.tell(result(request, content=CONTENT))


def old(url: Url, **options: Any) -> Url:
    return replace(url, carrier="sse", **options)


def test_the_headers_of_the_configuration_go_with_the_stream_and_with_each_message() -> None:
    async def test() -> None:
        peer = SsePeer(answers)
        async with peer.listening() as url:
            there = old(url, headers={"X-Team": "blue"}, bearer="token")
            async with await connect(there, US) as session:
                assert session.revision.name == "2024-11-05"
                assert (await session.call_tool("any")).text == "fine"
        assert peer.streams == 1
        assert len(peer.posted) == 3
        for head in peer.heads:
            assert "X-Team: blue\r\n" in head
            assert "Authorization: Bearer token\r\n" in head
        assert peer.methods == ["", "initialize", "notifications/initialized", "tools/call"]

    run(test())


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://127.0.0.2/messages", "http://127.0.0.1:9/messages", "https://127.0.0.1/messages", "//evil.test/messages",
        "http://127.0.0.1:PORT@evil.test/messages", "ftp://127.0.0.1:PORT/messages", "/messages HTTP/1.1", "/mess\u00e4ges",
        "http://[/messages",
    ],
)  # fmt: skip
def test_an_endpoint_at_another_origin_gets_nothing(endpoint: str) -> None:
    async def test() -> None:
        peer = SsePeer(answers)
        async with peer.listening() as url:
            peer.endpoint = endpoint.replace("PORT", url.url.split(":")[2].split("/")[0])
            with pytest.raises(ConnectionFailed, match="same origin"):
                await connect(old(url), US)
            assert peer.methods == [""]

    run(test())


@pytest.mark.parametrize(
    "endpoint", ["messages?s=1", "./messages?s=1", "/messages?s=1", "http://127.0.0.1:PORT/messages?s=1"]
)
def test_an_endpoint_is_found_from_the_place_of_the_stream(endpoint: str) -> None:
    async def test() -> None:
        peer = SsePeer(answers)
        async with peer.listening() as url:
            peer.endpoint = endpoint.replace("PORT", url.url.split(":")[2].split("/")[0])
            async with await connect(old(url), US) as session:
                assert (await session.call_tool("any")).text == "fine"
            assert all(head.startswith("POST /messages?s=1 ") for head in peer.heads[1:])

    run(test())


def test_a_server_that_names_no_endpoint_is_given_up_in_time() -> None:
    async def test() -> None:
        peer = SsePeer(answers, endpoint=None)
        async with peer.listening() as url:
            with pytest.raises(ConnectionFailed, match="no endpoint within"):
                await connect(old(url, connect_seconds=1.0), US)
            assert peer.methods == [""]

    run(test())


def test_a_stream_whose_handshake_is_refused_is_not_kept() -> None:
    async def test() -> None:
        peer = SsePeer()
        before = peer._answer

        async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
            if peer.heads[-1].startswith("POST /messages"):
                writer.write(http(b"no", status="500 Internal Server Error"))
            else:
                await before(peer, request, writer)

        peer._answer = answer
        async with peer.listening() as url:
            with pytest.raises(Refused):
                await connect(url, US)
            await until(lambda: all(writer.is_closing() for writer in peer._writers))

    run(test())


STREAMS: dict[str, tuple[bytes, type[Exception]]] = {
    "a page": (http(b"<html>", kind="text/html"), ConnectionFailed),
    "an empty stream": (STREAM + b"0\r\n\r\n", ConnectionFailed),
    "half an event": (STREAM + b"30\r\nevent: endpoint\ndata: /mes", ConnectionFailed),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", ConnectionFailed),
    "nothing": (b"", ConnectionFailed),
    "a redirect": (http(b"", status="307 Moved", more="Location: http://127.0.0.1:9/\r\n"), Refused),
    "no entry": (http(b"", status="401 Unauthorized"), Refused),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_that_does_not_begin_is_no_session(kind: str) -> None:
    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(STREAMS[kind][0])
        await writer.drain()
        writer.close()

    async def test() -> None:
        peer = Peer(answer)
        async with peer.listening() as url:
            with pytest.raises(STREAMS[kind][1]) as failed:
                await connect(old(url), US)
            assert not failed.value.delivered  # type: ignore[attr-defined]
            assert peer.methods == [""]

    run(test())


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "429 Too Many", "503 Unavailable"])
def test_a_message_that_is_not_taken_is_a_refusal_and_the_session_goes_on(status: str) -> None:
    async def then(peer: SsePeer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if peer.methods.count("tools/call") == 1:
            writer.write(http(b"no", status=status, kind="text/plain", more="Retry-After: 7\r\n"))
        else:
            await answers(peer, request, writer)

    async def test() -> None:
        peer = SsePeer(then)
        async with peer.listening() as url, await connect(old(url), US) as session:
            with pytest.raises(Refused) as refused:
                await session.call_tool("any")
            assert (refused.value.status, refused.value.retry_after_seconds) == (int(status[:3]), 7.0)
            assert refused.value.delivered is (status[0] == "5")
            assert (await session.call_tool("any")).text == "fine"
            assert peer.streams == 1

    run(test())


@pytest.mark.parametrize("times", [1, 9])
def test_a_session_that_is_not_known_is_begun_again_once(times: int) -> None:
    async def then(peer: SsePeer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if peer.methods.count("tools/call") <= times:
            writer.write(http(b"Could not find session", status="404 Not Found", kind="text/plain"))
        else:
            await answers(peer, request, writer)

    async def test() -> None:
        peer = SsePeer(then)
        async with peer.listening() as url, await connect(old(url), US) as session:
            if times == 1:
                assert (await session.call_tool("any")).text == "fine"
            else:
                with pytest.raises(Refused) as refused:
                    await session.call_tool("any")
                assert (refused.value.status, refused.value.delivered) == (404, False)
            assert (peer.streams, peer.methods.count("initialize"), peer.methods.count("tools/call")) == (2, 2, 2)

    run(test())


@pytest.mark.parametrize("cut", ["taken", "not yet taken", "half an answer", "too long"])
def test_a_stream_that_dies_fails_the_calls_under_way_and_takes_no_more(cut: str) -> None:
    async def then(peer: SsePeer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        assert peer.stream is not None
        if cut != "not yet taken":
            writer.write(TAKEN)
            await writer.drain()
        if cut == "half an answer":
            peer.stream.write(event(result(request, content=CONTENT))[:40])
        if cut == "too long":
            peer.stream.write(event(result(request, content=[{"type": "text", "text": "x" * 200_000}])))
            return
        await peer.stream.drain()
        peer.stream.close()

    async def test() -> None:
        peer = SsePeer(then)
        async with peer.listening() as url, await connect(old(url, most_bytes=100_000), US) as session:
            listening = asyncio.ensure_future(session.listen())
            with pytest.raises(ConnectionLost, match="stream of the server ended") as lost:
                await session.call_tool("any")
            assert lost.value.delivered
            assert ("100000 bytes" in str(lost.value)) is (cut == "too long")
            await listening
            with pytest.raises(ConnectionFailed) as failed:
                await session.call_tool("any")
            assert not failed.value.delivered
            assert peer.methods.count("tools/call") == 1

    run(test())


def test_a_post_that_is_cut_is_a_lost_call_and_the_session_goes_on() -> None:
    async def then(peer: SsePeer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if peer.methods.count("tools/call") == 1:
            writer.close()
        else:
            await answers(peer, request, writer)

    async def test() -> None:
        peer = SsePeer(then)
        async with peer.listening() as url, await connect(old(url), US) as session:
            with pytest.raises(ConnectionLost) as lost:
                await session.call_tool("any")
            assert lost.value.delivered
            assert (await session.call_tool("any")).text == "fine"

    run(test())


def test_what_else_comes_by_the_stream_harms_nobody() -> None:
    async def then(peer: SsePeer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(TAKEN)
        assert peer.stream is not None
        for data, kind in (
            (b"{not json", "message"), (b"12", "message"), (b"[1,[2]]", "message"),
            (result({"id": 99}, content=[]), "message"),
            (result(request, content=[{"type": "text", "text": "of another kind"}]), "ping"),
            (b"http://evil.test/", "endpoint"),
        ):  # fmt: skip
            await peer.tell(data, kind)
        whole = event(result(request, content=CONTENT))
        for at in range(0, len(whole), 7):
            peer.stream.write(whole[at : at + 7])
            await peer.stream.drain()

    async def test() -> None:
        peer = SsePeer(then)
        async with peer.listening() as url, await connect(old(url), US) as session:
            for _ in range(2):
                assert (await session.call_tool("any")).text == "fine"
            assert session.noise == 2 * 4
            assert all(head.startswith("POST /messages?session=1 ") for head in peer.heads[1:])

    run(test())


def test_who_stops_waiting_or_closes_leaves_nothing_open() -> None:
    async def then(peer: SsePeer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request["params"]["name"] == "taken":
            writer.write(TAKEN)

    async def test() -> None:
        peer = SsePeer(then)
        async with peer.listening() as url:
            session = await connect(old(url), US)
            for name in ("taken", "hung"):
                with pytest.raises(TimedOut) as late:
                    await session.call_tool(name, seconds=0.5)
                assert late.value.delivered
            await until(lambda: peer.methods.count("notifications/cancelled") == 2)
            ids = [request["id"] for request in peer.requests if request.get("method") == "tools/call"]
            told = [request["params"]["requestId"] for request in peer.requests if "requestId" in str(request)]
            assert sorted(told) == ids
            waiting = asyncio.ensure_future(session.call_tool("taken"))
            await until(lambda: peer.methods.count("tools/call") == 3)
            await session.close()
            with pytest.raises(ConnectionLost, match="closed"):
                await waiting
            pool = session._carrier._pool  # type: ignore[attr-defined]
            assert (len(pool._idle), len(pool._busy)) == (0, 0)
            with pytest.raises(ConnectionFailed):
                await session.call_tool("taken")

    run(test())


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"])
def test_a_server_that_refuses_the_newer_carrier_is_spoken_to_by_the_old_one(status: str) -> None:
    class Old(SsePeer):
        async def _respond(self, peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
            if self.heads[-1].startswith("POST /mcp"):
                writer.write(http(b"Cannot POST", status=status, kind="text/html"))
            else:
                await super()._respond(peer, request, writer)

    async def test() -> None:
        peer = Old(answers)
        async with peer.listening() as url, await connect(url, US) as session:
            assert session.revision.name == "2024-11-05"
            assert (await session.call_tool("any")).text == "fine"
            assert peer.streams == 1

    run(test())


@pytest.mark.parametrize("era", ["auto", "handshake"])
def test_where_the_old_carrier_is_not_either_the_first_refusal_is_told(era: Era) -> None:
    async def refuse(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        status = "405 Method Not Allowed" if peer.heads[-1].startswith("POST") else "501 Not Implemented"
        writer.write(http(b"no", status=status, kind="text/plain"))

    async def refuse_in_json(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        error = {"jsonrpc": "2.0", "id": request.get("id"), "error": {"code": -32600, "message": "not you"}}
        writer.write(http(json.dumps(error).encode(), status="400 Bad Request"))

    async def let_nobody_in(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(http(b"no", status="403 Forbidden"))

    async def test() -> None:
        peer = Peer(refuse)
        async with peer.listening() as url:
            with pytest.raises(Refused) as refused:
                await connect(url, US, era=era)
            assert refused.value.status == 405
            assert peer.heads[-1].startswith("GET")
        for answer, told in ((refuse_in_json, RpcError), (let_nobody_in, Refused)):
            peer = Peer(answer)
            async with peer.listening() as url:
                with pytest.raises(told):
                    await connect(url, US, era=era)
                assert all(head.startswith("POST") for head in peer.heads)

    run(test())


def test_a_token_that_is_refused_is_renewed_for_the_stream_and_for_messages() -> None:
    class Strict(SsePeer):
        wanted = "new"

        async def _respond(self, peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
            if f"Authorization: Bearer {self.wanted}\r\n" in self.heads[-1]:
                await super()._respond(peer, request, writer)
            else:
                writer.write(http(b"", status="401 Unauthorized", more="WWW-Authenticate: Bearer\r\n"))

    async def test() -> None:
        peer, pass_ = Strict(answers), Pass()
        async with peer.listening() as url, await connect(old(url, authorization=pass_), US) as session:
            assert (await session.call_tool("any")).text == "fine"
            pass_.bearer = "old"
            assert (await session.call_tool("any")).text == "fine"
            assert (peer.streams, peer.methods.count("tools/call")) == (2, 3)
            peer.wanted = "another"
            with pytest.raises(Refused) as refused:
                await session.call_tool("any")
            assert (refused.value.status, refused.value.delivered) == (401, False)

    run(test())


def test_the_old_carrier_has_no_stateless_revision() -> None:
    async def test() -> None:
        peer = SsePeer(answers)
        async with peer.listening() as url:
            with pytest.raises(ConnectionFailed, match="stateless"):
                await connect(old(url), US, era="stateless")
            assert peer.methods == [""]

    run(test())


def test_nothing_is_asked_before_the_server_has_heard_that_the_handshake_is_over() -> None:
    heard: list[str] = []

    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        method = request.get("method", "")
        heard.append(method)
        if method == "initialize":
            writer.write(http(greeting(request)))
        elif method == "notifications/initialized":
            # Whoever does not wait for this has sent its call by now.
            await asyncio.sleep(0)
            heard.append("taken")
            writer.write(http(b"", status="202 Accepted"))
        else:
            writer.write(http(result(request, content=CONTENT)))

    async def test() -> None:
        async with Peer(answer).listening() as url, await connect(url, US, era="handshake") as session:
            await session.call_tool("any")
        assert heard[:4] == ["initialize", "notifications/initialized", "taken", "tools/call"]

    run(test())
