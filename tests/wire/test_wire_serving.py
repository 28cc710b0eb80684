"""Requests and answers over HTTP/1.1, by hand against our own listener."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from serving_kit import BOUND, Peer, answer, echo, served
from wire_clients import until

from kumihimo.wire.serving.connection import MOST_HEAD_BYTES


def test_requests_are_answered_one_after_the_other_on_one_connection(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            await peer.say(b"GET /a%20b?x=%20 HTTP/1.1\r\nHost: h\r\n\r\n")
            assert (await peer.answer())[2] == b"GET /a b?x=%20 "
            await peer.say(b"POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
            status, headers, body = await peer.answer()
            assert (status, body) == (200, b"POST /c? abc")
            assert b"connection" not in headers

    run(test)


def test_requests_that_come_before_their_turn_are_answered_in_order(run: Any) -> None:
    async def slow_first(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/0":
            for _ in range(20):
                await asyncio.sleep(0)
        await echo(scope, receive, send)

    async def test() -> None:
        async with served(slow_first) as place:
            peer = await place.peer()
            many = b"".join(b"POST /%d HTTP/1.1\r\nContent-Length: 2\r\n\r\n%02d" % (n, n) for n in range(50))
            await peer.say(many)
            assert [(await peer.answer())[2] for _ in range(50)] == [b"POST /%d? %02d" % (n, n) for n in range(50)]

    run(test)


def test_a_request_in_single_bytes_is_a_request(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            for (
                byte
            ) in b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n":
                await peer.say(bytes([byte]))
                await asyncio.sleep(0)
            assert (await peer.answer())[2] == b"POST /x? abc"

    run(test)


def test_a_large_body_is_read_no_faster_than_it_is_taken_and_comes_whole(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            body = bytes(range(256)) * 20_000
            await peer.say(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body))
            sending = asyncio.ensure_future(peer.say(body))
            assert (await peer.answer())[2] == b"POST /? " + body
            await sending

    run(test)


def test_an_answer_to_half_a_request_leaves_the_connection_in_order(run: Any) -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/no":
            await answer(send, b"no", 413)
        else:
            await echo(scope, receive, send)

    async def test() -> None:
        async with served(refuse) as place:
            peer = await place.peer()
            await peer.say(b"POST /no HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n")
            assert (await peer.answer())[0] == 413
            await peer.say(b"x" * 1_000_000 + b"GET /yes HTTP/1.1\r\n\r\n")
            assert (await peer.answer())[2] == b"GET /yes? "

    run(test)


def test_who_asks_whether_to_go_on_is_told_so(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            await peer.say(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            assert await asyncio.wait_for(peer.reader.readuntil(b"\r\n\r\n"), BOUND) == b"HTTP/1.1 100 Continue\r\n\r\n"
            await peer.say(b"ok")
            assert (await peer.answer())[2] == b"POST /? ok"

    run(test)


def test_a_head_is_answered_without_a_body_and_a_stream_in_chunks(run: Any) -> None:
    async def stream(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "HEAD":
            await answer(send, b"12345")
        elif scope["path"] == "/none":
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for piece in (b"one", b"", b"two"):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"three"})

    async def test() -> None:
        async with served(stream) as place:
            peer = await place.peer()
            await peer.say(b"HEAD / HTTP/1.1\r\n\r\nGET /none HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n")
            head = await asyncio.wait_for(peer.reader.readuntil(b"\r\n\r\n"), BOUND)
            assert b"content-length: 5" in head
            assert (await peer.answer())[0] == 204
            assert (await peer.answer())[2] == b"onetwothree"

    run(test)


def test_a_stream_is_known_to_have_begun_before_it_says_anything(run: Any) -> None:
    async def test() -> None:
        go_on = asyncio.Event()

        async def later(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await go_on.wait()
            await send({"type": "http.response.body", "body": b"at last"})

        async with served(later) as place:
            peer = await place.peer()
            await peer.say(b"GET / HTTP/1.1\r\n\r\n")
            await asyncio.wait_for(peer.reader.readuntil(b"\r\n\r\n"), BOUND)
            go_on.set()
            assert await peer.chunks() == b"at last"

    run(test)


@pytest.mark.parametrize("asked", [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"])
def test_who_wants_one_answer_gets_one_and_the_end(run: Any, asked: bytes) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            await peer.say(asked)
            _, headers, body = await peer.answer()
            assert (headers[b"connection"], body) == (b"close", b"GET /? ")
            assert await peer.end() == b""

    run(test)


@pytest.mark.parametrize(
    "said",
    [
        b"\x00\x01\x02 nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_ends(run: Any, said: bytes) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            await peer.say(said)
            told = await peer.end()
            assert told.startswith(b"HTTP/1.1 400 ") or told == b""
            # Whoever comes after is served as ever.
            peer = await place.peer()
            await peer.say(b"GET / HTTP/1.1\r\n\r\n")
            assert (await peer.answer())[0] == 200

    run(test)


def test_a_head_that_does_not_end_is_refused(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            with contextlib.suppress(ConnectionError):
                await peer.say(b"GET / HTTP/1.1\r\nx: " + b"y" * 20 * MOST_HEAD_BYTES)
            with contextlib.suppress(ConnectionError):
                assert (await peer.end()).startswith(b"HTTP/1.1 431 ")
            assert not place.listener.running

    run(test)


def test_what_goes_before_nonsense_is_answered_first(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            await peer.say(b"GET /good HTTP/1.1\r\n\r\n")
            await peer.say(b"nonsense\r\n\r\n")
            assert (await peer.answer())[2] == b"GET /good? "
            assert (await peer.end())[:13] in (b"", b"HTTP/1.1 400 ")

    run(test)


def test_a_slow_reader_holds_back_who_writes_to_it(run: Any) -> None:
    async def test() -> None:
        written = 0

        async def flood(scope: Any, receive: Any, send: Any) -> None:
            nonlocal written
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(2_000):
                await send({"type": "http.response.body", "body": b"x" * 16_384, "more_body": True})
                written += 1
            await send({"type": "http.response.body", "body": b""})

        async with served(flood) as place:
            peer = Peer(*await asyncio.open_connection("127.0.0.1", place.port, limit=1024))
            await peer.say(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
            # Everything on the way is full: the event loop has said so.
            await until(lambda: any(it.write_paused for it in place.listener.connections.all()))
            assert written < 2_000
            assert (await peer.end()).count(b"x") == 2_000 * 16_384
            peer.writer.close()

    run(test)
