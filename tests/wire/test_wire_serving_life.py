"""Connections that end, fall silent, become something else, or never were any, against our own listener."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving_kit import BOUND, answer, echo, read_body, served


def test_a_client_that_is_gone_is_told_to_who_waits_for_it(run: Any) -> None:
    async def test() -> None:
        begun, heard = asyncio.Event(), asyncio.Event()

        async def waiting(scope: Any, receive: Any, send: Any) -> None:
            await read_body(receive)
            begun.set()
            assert (await receive())["type"] == "http.disconnect"
            # Nobody reads it, and nothing is wrong about that.
            await answer(send, b"too late")
            heard.set()

        async with served(waiting) as place:
            peer = await place.peer()
            await peer.say(b"GET / HTTP/1.1\r\n\r\n")
            await asyncio.wait_for(begun.wait(), BOUND)
            peer.reset()
            await asyncio.wait_for(heard.wait(), BOUND)

    run(test)


def test_a_mistake_of_ours_is_one_bad_answer(run: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/half":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"so far", "more_body": True})
            raise KeyError("half")
        if scope["path"] == "/long":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
            await send({"type": "http.response.body", "body": b"22"})
        if scope["path"] == "/split":
            await answer(send, b"", 200, (b"x-name", b"a\r\nx-other: b"))
        if scope["path"] != "/nothing":
            raise KeyError("whole")

    async def test() -> None:
        async with served(broken) as place:
            for path, told in ((b"/whole", b"HTTP/1.1 500 "), (b"/nothing", b"HTTP/1.1 500 ")):
                peer = await place.peer()
                await peer.say(b"GET %b HTTP/1.1\r\n\r\n" % path)
                assert (await peer.end()).startswith(told)
            for path in (b"/half", b"/long", b"/split"):
                peer = await place.peer()
                await peer.say(b"GET %b HTTP/1.1\r\n\r\n" % path)
                with contextlib.suppress(ConnectionError):
                    # Cut off, so that nobody takes it for whole.
                    assert not (await peer.end()).endswith((b"0\r\n\r\n", b"22"))

    run(test)
    assert "KeyError: 'whole'" in caplog.text
    assert "left without its answer" in caplog.text


def test_who_is_silent_where_it_is_its_turn_is_let_go_and_who_waits_for_us_is_not(run: Any) -> None:
    async def test() -> None:
        go_on = asyncio.Event()

        async def patient(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] == "/wait":
                await go_on.wait()
            await echo(scope, receive, send)

        async with served(patient, silence_seconds=0.2) as place:
            waiting = await place.peer()
            await waiting.say(b"GET /wait HTTP/1.1\r\n\r\n")
            idle, half, slow = await place.peer(), await place.peer(), await place.peer()
            await half.say(b"GET / HT")
            await slow.say(b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc")
            for gone in (idle, half, slow):
                assert await gone.end() == b""
            go_on.set()
            assert (await waiting.answer())[2] == b"GET /wait? "

    run(test)


def test_the_end_of_the_server_waits_for_answers_under_way_and_then_no_longer(run: Any) -> None:
    async def test() -> None:
        begun, go_on, cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def patient(scope: Any, receive: Any, send: Any) -> None:
            begun.set()
            try:
                await (asyncio.Event() if scope["path"] == "/never" else go_on).wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            await echo(scope, receive, send)

        for path, told in ((b"/soon", b"HTTP/1.1 200 "), (b"/never", b"")):
            begun.clear()
            async with served(patient) as place:
                idle, busy = await place.peer(), await place.peer()
                await busy.say(b"GET %b HTTP/1.1\r\n\r\n" % path)
                await asyncio.wait_for(begun.wait(), BOUND)
                ending = asyncio.ensure_future(place.listener.close(0.5))
                assert await idle.end() == b""
                go_on.set()
                with contextlib.suppress(ConnectionError):
                    assert (await busy.end())[:13] == told
                await ending
        assert cancelled.is_set()

    run(test)


def test_an_upgrade_is_handed_on_with_what_came_along_and_others_are_passed_over(run: Any) -> None:
    async def test() -> None:
        class Upgraded(asyncio.Protocol):
            def __init__(self, connections: Any) -> None:
                self._connections = connections
                self._heard = b""

            def connection_made(self, transport: Any) -> None:
                self._transport = transport
                self._connections.add(self)

            def connection_lost(self, exc: Exception | None) -> None:
                self._connections.discard(self)

            def data_received(self, data: bytes) -> None:
                self._heard += data
                if self._heard.endswith(b"end"):
                    self._transport.write(self._heard)
                    self._transport.close()

            def shutdown(self) -> None:
                self._transport.close()

            abort = shutdown

        async with served(echo, upgrade=Upgraded) as place:
            peer = await place.peer()
            asked = b"GET /ws?cursor=1 HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n"
            await peer.say(asked + b"be")
            await peer.say(b"hind end")
            assert (await peer.end()).lower() == (asked + b"behind end").lower()
            peer = await place.peer()
            await peer.say(b"GET /plain HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
            assert (await peer.answer())[2] == b"GET /plain? "
            assert await peer.end() == b""

    run(test)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(st.binary(max_size=200), st.sampled_from([b"GET / HTTP/1.1\r\n\r\n", b"\r\n", b": "])), max_size=8
    )
)
def test_no_bytes_whatever_leave_anything_behind(pieces: list[bytes]) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            with contextlib.suppress(ConnectionError):
                for piece in pieces:
                    await peer.say(piece)
                peer.writer.write_eof()
                await peer.end()
            peer = await place.peer()
            await peer.say(b"GET / HTTP/1.1\r\n\r\n")
            assert (await peer.answer())[0] == 200

    asyncio.run(asyncio.wait_for(test(), BOUND))
