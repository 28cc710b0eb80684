"""A server behind a WebSocket: what a client sends, and what it survives."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from client_kit import US, Pass, http, ours_on_http, result, run, until
from msgspec.structs import replace
from websocket_peer import WebSocketPeer, frame
from websockets.frames import Close, Opcode

from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ConnectionFailed, ConnectionLost, Refused, TimedOut
from kumihimo.wire.client.targets import Url

CONTENT = [{"type": "text", "text": "fine"}]


async def answers(peer: WebSocketPeer, request: dict[str, Any]) -> None:
    await peer.send(frame(result(request, content=CONTENT)))


@pytest.mark.parametrize("subprotocol", ["mcp", None])
def test_the_upgrade_has_the_headers_of_the_configuration_and_asks_for_mcp(subprotocol: str | None) -> None:
    async def test() -> None:
        peer = WebSocketPeer(answers, subprotocol=subprotocol)
        async with peer.listening() as url:
            there = replace(url, headers={"X-Team": "blue"}, bearer="token")
            async with await connect(there, US) as session:
                assert session.revision.name == "2025-11-25"
                assert (await session.call_tool("any")).text == "fine"
            (head,) = peer.heads
            assert head.startswith("GET /mcp?team=blue HTTP/1.1\r\n")
            for line in ("Sec-WebSocket-Protocol: mcp", "X-Team: blue", "Authorization: Bearer token"):
                assert f"\r\n{line}\r\n" in head
            assert peer.methods == ["server/discover", "initialize", "notifications/initialized", "tools/call"]
            await until(lambda: (Opcode.CLOSE, Close(1000, "").serialize()) in peer.controls)

    run(test())


@pytest.mark.parametrize(
    "status", ["401 Unauthorized", "403 Forbidden", "429 Too Many", "503 Unavailable", "404 Not Found"]
)
def test_an_upgrade_that_is_refused_with_a_status_is_a_refusal(status: str) -> None:
    async def test() -> None:
        peer = WebSocketPeer(upgrade=http(b"not you", status=status, kind="text/plain", more="Retry-After: 7\r\n"))
        async with peer.listening() as url:
            with pytest.raises(Refused, match="not you") as refused:
                await connect(url, US)
            assert (refused.value.status, refused.value.retry_after_seconds) == (int(status[:3]), 7.0)
            assert len(peer.heads) == 1

    run(test())


UPGRADES = {
    "no HTTP": b"SSH-2.0-OpenSSH_9.9\r\n\r\n",
    "a page": http(b"<html>", kind="text/html"),
    "a wrong key": b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: no\r\n\r\n",
    "no upgrade": b"HTTP/1.1 101 S\r\n\r\n",
    "endless": b"HTTP/1.1 101 " + b"x" * 100_000,
}


@pytest.mark.parametrize("kind", UPGRADES)
def test_what_is_no_upgrade_is_no_session(kind: str) -> None:
    async def test() -> None:
        peer = WebSocketPeer(upgrade=UPGRADES[kind])
        async with peer.listening() as url:
            with pytest.raises((ConnectionFailed, Refused)) as failed:
                await connect(replace(url, connect_seconds=1.0), US)
            assert not failed.value.delivered
            assert isinstance(failed.value, Refused) is (kind == "a page")

    run(test())


def test_a_server_that_never_answers_the_upgrade_is_given_up_in_time() -> None:
    async def test() -> None:
        peer = WebSocketPeer(upgrade=b"HTTP/1.1 1")
        async with peer.listening() as url:
            with pytest.raises(ConnectionFailed, match="within"):
                await connect(replace(url, connect_seconds=1.0), US)

        with pytest.raises(ConnectionFailed):
            await connect(Url(url="ws://127.0.0.1:9/"), US)
        with pytest.raises(ConnectionFailed, match="wss://"):
            await connect(Url(url="http://127.0.0.1:9/", carrier="websocket"), US)
        with pytest.raises(ConnectionFailed, match="no login"):
            await connect(Url(url="ws://127.0.0.1:9/", authorization=Pass()), US)

    run(test())


def test_a_message_is_whole_however_it_is_cut() -> None:
    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        whole = result(request, content=CONTENT)
        if request["params"]["name"] == "bytes":
            for byte in frame(whole):
                await peer.send(bytes((byte,)))
            return
        await peer.send(frame(whole[:10], fin=False) + frame(b"still there?", Opcode.PING))
        await peer.send(frame(whole[10:20], Opcode.CONT, fin=False) + frame(b"", Opcode.CONT, fin=False))
        await peer.send(frame(whole[20:], Opcode.CONT) + frame(result({"id": 99}), fin=True))

    async def test() -> None:
        peer = WebSocketPeer(then)
        async with peer.listening() as url, await connect(url, US) as session:
            for name in ("bytes", "fragments"):
                assert (await session.call_tool(name)).text == "fine"
            await until(lambda: (Opcode.PONG, b"still there?") in peer.controls)
            assert session.noise == 1

    run(test())


def test_what_is_no_message_is_passed_over() -> None:
    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        long = b'{"jsonrpc":"2.0","id":"%b","result":{}}' % (b"9" * 5000)
        for noise in (b"{not json", b"", b"42", b"\xff\xfe", b"[[]]", long):
            await peer.send(frame(noise))
        await peer.send(frame(b"\x00\xff", Opcode.BINARY) + frame(b"unasked", Opcode.PONG))
        await answers(peer, request)

    async def test() -> None:
        peer = WebSocketPeer(then)
        async with peer.listening() as url, await connect(url, US) as session:
            assert (await session.call_tool("any")).text == "fine"
            assert session.noise == 7

    run(test())


def test_messages_that_come_as_bytes_are_read_as_those_that_come_as_text() -> None:
    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        answer = result(request, content=[{"type": "text", "text": "in bytes"}])
        if request["params"]["name"] == "whole":
            await peer.send(frame(answer, Opcode.BINARY))
        else:
            await peer.send(frame(answer[:5], Opcode.BINARY, fin=False) + frame(answer[5:], Opcode.CONT))

    async def test() -> None:
        peer = WebSocketPeer(then)
        async with peer.listening() as url, await connect(url, US) as session:
            for name in ("whole", "in parts"):
                assert (await session.call_tool(name)).text == "in bytes"
            assert session.noise == 0

    run(test())


ENDS: dict[str, tuple[bytes, str]] = {
    "half a frame": (frame(b"x" * 200)[:50], "hung up"),
    "a close": (frame(Close(1011, "out of memory").serialize(), Opcode.CLOSE), "1011 out of memory"),
    "a masked frame": (b"\x81\x85\x00\x00\x00\x00hello", "no WebSocket"),
    "an unknown opcode": (b"\x83\x00", "no WebSocket"),
    "a continuation of nothing": (frame(b"x", Opcode.CONT), "no WebSocket"),
    "garbage": (b"\xff" * 100, "no WebSocket"),
    "a huge frame": (b"\x81\x7f" + (2**62).to_bytes(8, "big"), "100000 bytes"),
    "many fragments": (
        frame(b"x" * 60_000, fin=False) + frame(b"x" * 60_000, Opcode.CONT, fin=False), "100000 bytes",
    ),
    "nothing": (b"", "hung up"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ENDS)
def test_a_connection_that_ends_fails_the_calls_under_way_and_takes_no_more(kind: str) -> None:
    data, reason = ENDS[kind]

    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        await peer.send(data)
        if kind in ("half a frame", "nothing"):
            peer.writer.close()

    async def test() -> None:
        peer = WebSocketPeer(then)
        async with peer.listening() as url, await connect(replace(url, most_bytes=100_000), US) as session:
            listening = asyncio.ensure_future(session.listen())
            with pytest.raises(ConnectionLost, match=reason) as lost:
                await session.call_tool("any")
            assert lost.value.delivered
            await listening
            with pytest.raises(ConnectionFailed, match=reason) as failed:
                await session.call_tool("any")
            assert not failed.value.delivered
            assert peer.methods.count("tools/call") == 1

    run(test())


def test_a_server_that_ends_at_what_it_does_not_know_is_reached_again() -> None:
    class Proud(WebSocketPeer):
        async def _hear(self, opcode: Opcode, data: bytes) -> None:
            if b"server/discover" in data:
                await self.send(frame(Close(1002, "what?").serialize(), Opcode.CLOSE))
                self.writer.close()
            else:
                await super()._hear(opcode, data)

    async def test() -> None:
        peer = Proud(answers)
        async with peer.listening() as url:
            async with await connect(url, US) as session:
                assert (await session.call_tool("any")).text == "fine"
            assert len(peer.heads) == 2
            with pytest.raises(ConnectionLost):
                await connect(url, US, era="stateless")

    run(test())


def test_who_stops_waiting_tells_the_server_and_who_closes_does_not_wait_for_one_that_never_hangs_up() -> None:
    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        """Nothing."""

    async def test() -> None:
        peer = WebSocketPeer(then, hangs_up=False)
        async with peer.listening() as url:
            session = await connect(url, US)
            with pytest.raises(TimedOut) as late:
                await session.call_tool("any", seconds=0.1)
            assert late.value.delivered
            await until(lambda: "notifications/cancelled" in peer.methods)
            waiting = asyncio.ensure_future(session.call_tool("any"))
            await until(lambda: peer.methods.count("tools/call") == 2)
            async with asyncio.timeout(10):
                await session.close()
            with pytest.raises(ConnectionLost, match="closed"):
                await waiting
            assert any(opcode is Opcode.CLOSE for opcode, _ in peer.controls)

    run(test())


def test_who_sends_more_than_the_server_reads_waits_and_is_told_when_the_server_goes() -> None:
    held = asyncio.Event()

    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        await held.wait()

    async def test() -> None:
        peer = WebSocketPeer(then)
        async with peer.listening() as url, await connect(url, US) as session:
            long = {"text": "x" * 1_000_000}
            calls = [asyncio.ensure_future(session.call_tool("any", long)) for _ in range(40)]
            connection = session._carrier._connection  # type: ignore[attr-defined]
            await until(lambda: connection.crowded)
            sent = [call for call in session._dialogue.calls.values() if call.sent]
            assert 1 <= len(sent) < 40
            peer.writer.transport.abort()
            lost = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(error) for error in lost} <= {ConnectionLost, ConnectionFailed}
            assert sum(error.delivered for error in lost) == len(sent)  # type: ignore[union-attr]
        held.set()

    run(test())


def test_who_closes_does_not_wait_for_a_server_that_has_stopped_reading() -> None:
    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        peer.writer.write_eof()
        await asyncio.Event().wait()

    async def test() -> None:
        peer = WebSocketPeer(then)
        async with peer.listening() as url:
            session = await connect(url, US)
            long = {"text": "x" * 20_000_000}
            calls = [asyncio.ensure_future(session.call_tool("any", long)) for _ in range(2)]
            lost = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(error) for error in lost} <= {ConnectionLost, ConnectionFailed}
            async with asyncio.timeout(10):
                await session.close()

    run(test())


def test_pings_that_a_server_does_not_read_the_answers_to_are_not_answered_for_ever() -> None:
    async def flood(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        while not peer.writer.is_closing():
            await peer.send(frame(b"x" * 125, Opcode.PING) * 1000)

    async def test() -> None:
        peer = WebSocketPeer(flood)
        async with peer.listening() as url, await connect(replace(url, most_bytes=1_000_000), US) as session:
            with pytest.raises(ConnectionLost, match="does not read"):
                await session.call_tool("any")

    run(test())


def test_nothing_of_a_websocket_is_loaded_where_none_is_opened() -> None:
    code = "import sys, kumihimo.wire.client.connect; raise SystemExit('websockets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_a_server_that_is_no_websocket_refuses_the_upgrade() -> None:
    async def test() -> None:
        async with ours_on_http() as url:
            with pytest.raises((Refused, ConnectionFailed)):
                await connect(Url(url=url.replace("http:", "ws:")), US)

    run(test())
