"""A server that forgets its sessions, as one does that was started anew, and what its calls come to meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from client_kit import BOUND, US, Peer, greeting, greets, http, result, run, until
from msgspec.structs import replace

from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ConnectionFailed, ConnectionLost, Refused, SessionGone, TimedOut
from kumihimo.wire.client.http_connection import HttpConnection
from kumihimo.wire.client.http_pool import HttpPool
from kumihimo.wire.errors import RpcError

CONTENT = [{"type": "text", "text": "fine"}]
IN_PLAIN = {"kind": "text/plain"}


class Forgetful:
    """Gives each handshake a session of its own. `forget` ends the one there is; `hold` makes handshakes wait."""

    def __init__(self) -> None:
        self.peer = Peer(self._answer)
        self.carried_out = 0
        # What a handshake is answered with in place of a session.
        self.refusal: bytes | Callable[[dict[str, Any]], bytes] | None = None
        # What is said of a session that is not known.
        self.unknown = http(b"gone", status="404 Not Found", **IN_PLAIN)
        # What a call is answered with that was carried out.
        self.failure: bytes | None = None
        self.go_on = asyncio.Event()
        self.go_on.set()
        self._session = ""
        self._sessions = 0

    def forget(self) -> None:
        self._session = ""

    def hold(self) -> None:
        self.go_on.clear()

    @property
    def handshakes(self) -> int:
        return self.peer.methods.count("initialize")

    @property
    def strays(self) -> int:
        """Calls that came without any session, as if there were none to name."""
        pairs = zip(self.peer.methods, self.peer.heads, strict=True)
        return sum(method == "tools/call" and "mcp-session-id" not in head.lower() for method, head in pairs)

    async def _answer(self, peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        head, method = peer.heads[-1], request.get("method", "")
        if head.startswith("GET ") and self._session:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        elif method == "server/discover":
            writer.write(http(b"what?", status="400 Bad Request", **IN_PLAIN))
        elif method == "initialize":
            await self.go_on.wait()
            writer.write(self._greet(request))
        elif not self._session or f"Mcp-Session-Id: {self._session}\r\n" not in head:
            known = "mcp-session-id" in head.lower()
            writer.write(self.unknown if known else http(b"gone", status="400 Bad Request", **IN_PLAIN))
        elif method == "tools/call":
            self.carried_out += 1
            writer.write(self.failure or http(result(request, content=CONTENT)))
        elif method == "ping":
            writer.write(http(result(request)))
        else:
            writer.write(http(b"", status="202 Accepted"))

    def _greet(self, request: dict[str, Any]) -> bytes:
        if callable(self.refusal):
            return self.refusal(request)
        if self.refusal is not None:
            return self.refusal
        self._sessions += 1
        self._session = f"session-{self._sessions}"
        return http(greeting(request), more=f"Mcp-Session-Id: {self._session}\r\n")


def test_of_many_calls_that_find_the_session_gone_one_begins_another_and_each_is_carried_out_once() -> None:
    async def test() -> None:
        server = Forgetful()
        async with server.peer.listening() as url, await connect(url, US) as session:
            server.forget()
            await asyncio.gather(*(session.call_tool("any") for _ in range(20)))
            assert (server.handshakes, server.carried_out, server.strays) == (2, 20, 0)

    run(test())


BAD = "400 Bad Request"
UNKNOWN: dict[str, bytes] = {
    "an error of nobody": b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"},"id":null}',
    "an error without an id": b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"}}',
    "a text": b"No valid session ID provided",
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_session_that_is_refused_with_no_word_of_the_call_is_begun_again(kind: str) -> None:
    async def test() -> None:
        server = Forgetful()
        server.unknown = http(UNKNOWN[kind], status=BAD)
        async with server.peer.listening() as url, await connect(url, US) as session:
            for turn in range(2):
                server.forget()
                await asyncio.gather(*(session.call_tool("any", repeatable=True) for _ in range(5)))
                assert (server.handshakes, server.carried_out, server.strays) == (turn + 2, (turn + 1) * 5, 0)

    run(test())


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_call_that_may_change_something_is_left_to_its_caller_where_only_a_400_speaks_of_the_session(
    kind: str,
) -> None:
    async def test() -> None:
        server = Forgetful()
        server.unknown = http(UNKNOWN[kind], status=BAD)
        async with server.peer.listening() as url, await connect(url, US) as session:
            server.forget()
            with pytest.raises((Refused, RpcError), match=r"No valid session ID.*another was begun.*repeat it"):
                await session.call_tool("any")
            assert (server.handshakes, server.carried_out) == (2, 0)
            await session.call_tool("any")
            assert (server.handshakes, server.carried_out, server.strays) == (2, 1, 0)

    run(test())


@pytest.mark.parametrize("kind", UNKNOWN)
@pytest.mark.parametrize("repeatable", [False, True])
def test_a_tool_that_fails_with_a_400_ends_no_session_that_its_server_knows(kind: str, repeatable: bool) -> None:
    async def test() -> None:
        server = Forgetful()
        server.failure = http(UNKNOWN[kind], status=BAD)
        async with server.peer.listening() as url, await connect(url, US) as session:
            with pytest.raises((Refused, RpcError), match="No valid session ID"):
                await session.call_tool("any", repeatable=repeatable)
            assert (server.handshakes, server.carried_out) == (1, 1)

    run(test())


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_call_that_is_refused_in_a_new_session_too_is_what_is_refused(kind: str) -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(http(UNKNOWN[kind], status=BAD))

    async def test() -> None:
        peer = greets(then, session="abc")
        async with peer.listening() as url, await connect(url, US) as session:
            with pytest.raises(Refused if kind == "a text" else RpcError, match="No valid session ID") as refused:
                await session.call_tool("any", repeatable=True)
            assert not isinstance(refused.value, SessionGone)
            assert peer.methods.count("tools/call") == peer.methods.count("initialize") == 2

    run(test())


def test_an_answer_to_the_call_begins_no_session_whatever_its_status() -> None:
    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        error = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":"no such tool"}}' % request["id"]
        writer.write(http(error, status=BAD))

    async def test() -> None:
        peer = greets(then, session="abc")
        async with peer.listening() as url, await connect(url, US) as session:
            with pytest.raises(RpcError, match="no such tool"):
                await session.call_tool("any")
            assert peer.methods.count("tools/call") == peer.methods.count("initialize") == 1

    run(test())


def test_who_hears_what_the_server_says_unasked_hears_no_more_of_a_session_that_is_over() -> None:
    async def test() -> None:
        server, ready = Forgetful(), asyncio.Event()
        async with server.peer.listening() as url, await connect(url, US) as session:
            listening = asyncio.ensure_future(session.listen(on_ready=ready.set))
            await ready.wait()
            server.forget()
            await session.call_tool("any")
            with pytest.raises(ConnectionLost, match="begun anew"):
                await listening
            ready.clear()
            listening = asyncio.ensure_future(session.listen(on_ready=ready.set))
            await ready.wait()
            listening.cancel()

    run(test())


def test_who_stops_waiting_for_another_session_takes_it_from_nobody() -> None:
    async def test() -> None:
        server = Forgetful()
        async with server.peer.listening() as url, await connect(url, US) as session:
            server.forget()
            server.hold()
            first = asyncio.ensure_future(session.call_tool("any"))
            await until(lambda: server.handshakes == 2)
            second = asyncio.ensure_future(session.call_tool("any"))
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            server.go_on.set()
            await second
            assert (server.handshakes, server.carried_out, server.strays) == (2, 1, 0)

    run(test())


def test_who_begins_another_session_waits_no_longer_than_its_call_may_take() -> None:
    async def test() -> None:
        server = Forgetful()
        async with server.peer.listening() as url, await connect(url, US) as session:
            server.forget()
            server.hold()
            patient = asyncio.ensure_future(session.call_tool("any", seconds=BOUND))
            await until(lambda: server.handshakes == 2)
            with pytest.raises(TimedOut) as late:
                await session.call_tool("any", seconds=0.05)
            # It was never sent: it may be sent again.
            assert not late.value.delivered
            server.go_on.set()
            await patient
            assert (server.handshakes, server.carried_out, server.strays) == (2, 1, 0)

    run(test())


def test_who_gets_a_connection_only_then_goes_with_the_session_that_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    connects, go_on = HttpPool.connect, asyncio.Event()

    async def connect_late(pool: HttpPool) -> HttpConnection:
        await go_on.wait()
        return await connects(pool)

    async def test() -> None:
        server = Forgetful()
        async with server.peer.listening() as url, await connect(url, US) as session:
            monkeypatch.setattr(HttpPool, "connect", connect_late)
            server.forget()
            server.hold()
            # The first has the connection that there is, and so has the handshake after it.
            calls = [asyncio.ensure_future(session.call_tool("any")) for _ in range(2)]
            await until(lambda: server.handshakes == 2)
            go_on.set()
            await until(lambda: server.peer.methods.count("tools/call") == 2)
            server.go_on.set()
            await asyncio.gather(*calls)
            assert (server.handshakes, server.carried_out, server.strays) == (2, 2, 0)

    run(test())


REFUSALS: dict[str, bytes | Callable[[dict[str, Any]], bytes]] = {
    "is starting": http(b"starting", status="503 Service Unavailable", **IN_PLAIN),
    "answers an error": lambda request: http(
        b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"no room"}}' % request["id"]
    ),
    "answers garbage": http(b"{not json"),
    "speaks of another time": lambda request: http(greeting(request, "1999-01-01")),
}


@pytest.mark.parametrize("kind", list(REFUSALS))
def test_a_session_that_can_not_be_begun_again_is_a_failed_connection_until_it_can(kind: str) -> None:
    async def test() -> None:
        server = Forgetful()
        async with server.peer.listening() as url, await connect(url, US) as session:
            server.forget()
            server.refusal = REFUSALS[kind]
            # The second call finds no session that it could name: it is not sent without one.
            for _ in range(2):
                with pytest.raises(ConnectionFailed, match="has forgotten the session") as failed:
                    await session.call_tool("any")
                assert not failed.value.delivered
            server.refusal = None
            await session.call_tool("any")
            assert (server.handshakes, server.carried_out, server.strays) == (4, 1, 0)

    run(test())


def test_a_handshake_that_nobody_answers_says_of_no_call_that_it_may_have_arrived() -> None:
    async def test() -> None:
        server = Forgetful()
        hasty = replace(US, seconds=0.1)
        async with server.peer.listening() as url, await connect(url, hasty) as session:
            server.forget()
            server.hold()
            with pytest.raises(ConnectionFailed) as failed:
                await session.call_tool("any", seconds=BOUND)
            assert not failed.value.delivered
            server.go_on.set()
            await session.call_tool("any")
            assert (server.carried_out, server.strays) == (1, 0)

    run(test())


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "429 Too Many Requests"])
def test_who_is_not_let_in_again_is_told_so(status: str) -> None:
    async def test() -> None:
        server = Forgetful()
        async with server.peer.listening() as url, await connect(url, US) as session:
            server.forget()
            server.refusal = http(b"no", status=status, more="Retry-After: 7\r\n", **IN_PLAIN)
            with pytest.raises(Refused) as refused:
                await session.call_tool("any")
            assert (refused.value.status, refused.value.retry_after_seconds) == (int(status[:3]), 7)

    run(test())


def test_a_session_that_is_closed_while_another_is_begun_leaves_nobody_waiting() -> None:
    async def test() -> None:
        server = Forgetful()
        async with server.peer.listening() as url:
            session = await connect(url, US)
            server.forget()
            server.hold()
            calls = [asyncio.ensure_future(session.call_tool("any")) for _ in range(3)]
            await until(lambda: server.handshakes == 2)
            await session.close()
            for outcome in await asyncio.gather(*calls, return_exceptions=True):
                assert isinstance(outcome, ConnectionFailed)
            assert {task for task in asyncio.all_tasks() if task.get_name() == "begin the session again"} == set()
            server.go_on.set()

    run(test())
