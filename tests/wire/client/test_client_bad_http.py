"""HTTP servers that do what none should."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from client_kit import US, Peer, greeting, greets, http, result, run, until
from msgspec.structs import replace

from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import BadAnswer, ConnectionLost, Refused, TimedOut
from kumihimo.wire.client.events import Events
from kumihimo.wire.errors import RpcError

CONTENT = [{"type": "text", "text": "fine"}]


def event(data: bytes, event_id: str | None = None) -> bytes:
    return (f"id: {event_id}\n".encode() if event_id else b"") + b"data: " + data + b"\n\n"


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@pytest.mark.parametrize("cut", ["before", "head", "body", "chunk", "stream"])
def test_a_connection_that_is_cut_is_lost_and_the_call_is_not_sent_again(cut: str) -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        whole = http(result(request, content=CONTENT))
        pieces = {
            "before": b"", "head": whole[:20], "body": whole[:-5], "chunk": STREAM + b"40\r\nhalf of",
            "stream": STREAM + chunk(b"data: {\n"),
        }  # fmt: skip
        writer.write(pieces[cut])
        await writer.drain()
        writer.close()

    async def test() -> None:
        peer = greets(then)
        async with peer.listening() as url, await connect(url, US) as session:
            with pytest.raises(ConnectionLost) as lost:
                await session.call_tool("any")
            assert lost.value.delivered
            assert peer.methods.count("tools/call") == 1
            # What changes nothing is asked once more.
            with pytest.raises(ConnectionLost):
                await session.list_tools()
            assert peer.methods.count("tools/list") == 2

    run(test())


ANSWERS: dict[str, tuple[bytes, type[Exception]]] = {
    "no HTTP": (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", BadAnswer),
    "no JSON": (http(b"<html>"), BadAnswer),
    "nothing": (http(b"", status="202 Accepted"), BadAnswer),
    "a wrong id": (http(b'{"jsonrpc":"2.0","id":99,"result":{}}'), BadAnswer),
    "neither result nor error": (http(b'{"jsonrpc":"2.0","id":3}'), BadAnswer),
    "no object": (http(b'{"jsonrpc":"2.0","id":3,"result":[]}'), BadAnswer),
    "an empty stream": (STREAM + b"0\r\n\r\n", ConnectionLost),
    "a redirect": (http(b"", status="307 Moved", more="Location: http://127.0.0.1:9/\r\n"), Refused),
    "a proxy's page": (http(b"<html>bad gateway", status="502 Bad Gateway", kind="text/html"), Refused),
    "an error": (http(b'{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"ours"}}'), RpcError),
    "an error with a status": (
        http(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}', status="400 Bad Request"), RpcError,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ANSWERS)
def test_what_is_no_answer_is_told_as_what_it_is_and_the_session_goes_on(kind: str) -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        asked = peer.methods.count("tools/call")
        writer.write(ANSWERS[kind][0] if asked == 1 else http(result(request, content=CONTENT)))

    async def test() -> None:
        async with greets(then).listening() as url, await connect(url, US) as session:
            with pytest.raises(ANSWERS[kind][1]):
                await session.call_tool("any")
            assert (await session.call_tool("any")).text == "fine"

    run(test())


def test_a_server_that_has_moved_is_not_followed_and_it_is_said_where_it_is() -> None:
    async def moved(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(http(b"", status="307 Temporary Redirect", more="Location: /mcp/\r\n"))

    async def test() -> None:
        peer = Peer(moved)
        async with peer.listening() as url:
            with pytest.raises(Refused, match="the server is at /mcp/ now"):
                await connect(url, US)
        assert all(head.startswith("POST /mcp HTTP") for head in peer.heads)

    run(test())


def test_a_stream_that_is_cut_is_taken_up_where_it_stopped() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request.get("method") == "tools/call":
            told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}
            writer.write(STREAM + chunk(b"retry: 1\n" + event(json.dumps(told).encode(), "s_1")))
            await writer.drain()
            writer.close()
        elif peer.heads[-1].startswith("GET"):
            call = next(one for one in peer.requests if one.get("method") == "tools/call")
            writer.write(STREAM + chunk(event(result(call, content=CONTENT), "s_2")) + b"0\r\n\r\n")

    async def test() -> None:
        peer = greets(then, session="abc")
        async with peer.listening() as url, await connect(url, US) as session:
            assert (await session.call_tool("any")).text == "fine"
            (resumed,) = [head for head in peer.heads if head.startswith("GET")]
            assert "Last-Event-ID: s_1" in resumed
            assert "Mcp-Session-Id: abc" in resumed
            assert "MCP-Protocol-Version: 2025-11-25" in resumed
            assert peer.methods.count("tools/call") == 1

    run(test())


def test_a_stream_that_is_cut_for_ever_is_given_up() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + chunk(b"id: s_1\nretry: 1\ndata:\n\n"))
        await writer.drain()
        writer.close()

    async def test() -> None:
        peer = greets(then, session="abc")
        async with peer.listening() as url, await connect(replace(url, resumptions=3), US) as session:
            with pytest.raises(ConnectionLost):
                await session.call_tool("any")
            assert sum(head.startswith("GET") for head in peer.heads) == 3

    run(test())


def test_an_answer_that_is_too_long_is_not_read_to_its_end() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        long = result(request, content=[{"type": "text", "text": "x" * 200_000}])
        whole = http(long) if request["params"]["name"] == "json" else STREAM + chunk(event(long)) + b"0\r\n\r\n"
        writer.write(whole)

    async def test() -> None:
        async with greets(then).listening() as url:
            async with await connect(replace(url, most_bytes=100_000), US) as session:
                for name in ("json", "stream"):
                    with pytest.raises(BadAnswer, match="100000 bytes"):
                        await session.call_tool(name)
            async with await connect(url, US) as session:
                for name in ("json", "stream"):
                    assert len((await session.call_tool(name)).text) == 200_000

    run(test())


@pytest.mark.parametrize("kind", ["json", "stream"])
def test_an_answer_that_is_too_long_fails_at_once_and_its_end_is_not_waited_for(kind: str) -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        head = STREAM if kind == "stream" else STREAM.replace(b"text/event-stream", b"application/json")
        writer.write(head + chunk(b"data: " + b"x" * 200_000))

    async def test() -> None:
        async with greets(then).listening() as there:
            url = replace(there, most_bytes=100_000)
            async with await connect(url, US, seconds=0) as session:
                with pytest.raises(BadAnswer, match="100000 bytes"):
                    await session.call_tool("any")
                await until(lambda: not session._carrier._pool._busy)  # type: ignore[attr-defined]

    run(test())


ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "many headers": (b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 1000),
    "one header": (b"HTTP/1.1 200 OK\r\nx: ", b"y" * 6000),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 240),
    "trailers": (STREAM + chunk(b"data: {\n") + b"0\r\n", b"x: y\r\n" * 1000),
    "an extension": (STREAM + b"8;x=", b"y" * 6000),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_headers_without_end_are_not_read_for_ever(kind: str) -> None:
    beginning, more = ENDLESS[kind]

    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        for _ in range(60):
            writer.write(more)
            await writer.drain()

    async def test() -> None:
        async with greets(then).listening() as url, await connect(url, US, seconds=0) as session:
            with pytest.raises(BadAnswer, match=r"not HTTP|headers have more") as bad:
                await session.call_tool("any")
            assert bad.value.delivered

    run(test())


def test_a_long_body_is_no_long_head() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        answer = result(request, content=[{"type": "text", "text": "x" * 1_000_000}])
        cut = [chunk(answer[at : at + 100]) for at in range(0, len(answer), 100)]
        head = STREAM.replace(b"text/event-stream", b"application/json")
        whole = request["params"]["name"] == "whole"
        writer.write(http(answer) if whole else head + b"".join(cut) + b"0\r\n\r\n")

    async def test() -> None:
        async with greets(then).listening() as url, await connect(url, US) as session:
            for name in ("whole", "in chunks"):
                assert len((await session.call_tool(name)).text) == 1_000_000

    run(test())


def test_a_session_is_closed_whatever_its_server_says_to_that() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no such session"}}'
        writer.write(http(error, status="400 Bad Request"))

    async def test() -> None:
        peer = greets(then, session="abc")
        async with peer.listening() as url:
            session = await connect(url, US)
            await session.close()
            assert peer.heads[-1].startswith("DELETE")
            assert session._carrier._closed  # type: ignore[attr-defined]

    run(test())


def test_a_session_that_is_always_gone_is_asked_for_once_more_and_no_more() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(http(b"gone", status="404 Not Found", kind="text/plain"))

    async def test() -> None:
        peer = greets(then, session="abc")
        async with peer.listening() as url, await connect(url, US) as session:
            with pytest.raises(Refused) as refused:
                await session.call_tool("any")
            assert (refused.value.status, refused.value.delivered) == (404, False)
            assert peer.methods.count("tools/call") == 2
            assert peer.methods.count("initialize") == 2

    run(test())


def test_a_listener_is_ready_once_the_stream_is_there_and_never_where_there_is_none() -> None:
    async def test() -> None:
        let, ready = asyncio.Event(), asyncio.Event()

        async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
            if peer.heads[-1].startswith("GET"):
                await let.wait()
            writer.write(STREAM if not ready.is_set() else http(b"", status="405 Method Not Allowed"))

        peer = greets(then)
        async with peer.listening() as url, await connect(url, US) as session:
            listening = asyncio.ensure_future(session.listen(on_ready=ready.set))
            await until(lambda: peer.heads[-1].startswith("GET"))
            assert not ready.is_set()
            let.set()
            async with asyncio.timeout(10):
                await ready.wait()
            listening.cancel()
            again: list[str] = []
            await session.listen(on_ready=lambda: again.append("ready"))
            assert again == []

    run(test())


def test_a_server_that_takes_a_call_and_never_answers_times_out() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        """Nothing."""

    async def test() -> None:
        peer = greets(then)
        async with peer.listening() as url, await connect(url, US) as session:
            with pytest.raises(TimedOut) as late:
                await session.call_tool("any", seconds=0.1)
            assert late.value.delivered
            assert peer.methods.count("tools/call") == 1

    run(test())


def test_a_server_of_an_unknown_revision_is_not_spoken_to() -> None:
    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request["method"] == "initialize":
            writer.write(http(greeting(request, version="2031-01-01")))
        else:
            writer.write(http(b"", status="405 Method Not Allowed"))

    async def test() -> None:
        async with Peer(answer).listening() as url:
            with pytest.raises(BadAnswer, match="2031-01-01"):
                await connect(url, US)

    run(test())


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + result(request, content=CONTENT))
        await writer.drain()
        writer.close()

    async def test() -> None:
        async with greets(then).listening() as url, await connect(url, US) as session:
            assert (await session.call_tool("any")).text == "fine"
            assert (await session.call_tool("any")).text == "fine"

    run(test())


def test_a_session_id_with_line_ends_is_not_sent_back() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(http(result(request, content=CONTENT)))

    async def test() -> None:
        peer = greets(then, session="a\tb")
        async with peer.listening() as url, await connect(url, US) as session:
            await session.call_tool("any")
            assert "Mcp-Session-Id" not in peer.heads[-1]

    run(test())


def test_events_are_the_same_however_they_are_cut() -> None:
    text = b": hello\r\n\r\nid: 7\rretry: 250\ndata: one\ndata:two\n\nevent: x\nunknown\ndata: three\r\n\r\ndata:\n\ndata: left"
    for size in range(1, len(text)):
        found: list[bytes] = []
        events = Events(found.append, 100)
        for at in range(0, len(text), size):
            events.feed(text[at : at + size])
        assert (found, events.last_id, events.retry_seconds) == ([b"one\ntwo", b"three"], b"7", 0.25), size
        assert not events.too_long


def test_an_event_ends_with_its_empty_line_whatever_lines_end_with() -> None:
    found: list[bytes] = []
    events = Events(found.append, 100)
    for line in (b"\xef", b"\xbb\xbfdata: one", b"\r", b"\r"):
        events.feed(line)
    assert found == [b"one"]
    events.feed(b"\ndata: two\r\r")
    assert found == [b"one", b"two"]


def test_a_new_server_that_is_slow_to_say_so_is_not_taken_for_an_old_one() -> None:
    async def slow(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request["method"] == "initialize":
            refusal = {"code": -32600, "message": "Missing MCP-Protocol-Version header"}
            body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": refusal}).encode()
            writer.write(http(body, status="400 Bad Request"))
        elif peer.methods.count("server/discover") > 1:
            info = {"io.modelcontextprotocol/serverInfo": {"name": "slow", "version": "1"}}
            found = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "_meta": info}
            writer.write(http(result(request, resultType="complete", **found)))

    async def test() -> None:
        peer = Peer(slow)
        async with peer.listening() as url, await connect(url, replace(US, probe_seconds=0.1)) as session:
            assert session.greeting.server.name == "slow"
            assert peer.methods == ["server/discover", "initialize", "server/discover"]

    run(test())
