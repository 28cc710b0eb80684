"""Requests whose head came before are read as they were the first time, however they are cut up."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from serving_kit import echo, served

from kumihimo.wire.serving.head import MOST_HEADS

ONE = b"POST /one HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%b"
OTHER = b"POST /other?q HTTP/1.1\r\nHost: b\r\nContent-Length: %d\r\n\r\n%b"
CHUNKED = b"POST /chunked HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
SHAPES = {b"/one?": ONE, b"/other?q": OTHER, b"/chunked?": CHUNKED}


def test_a_head_that_is_known_again_is_read_the_same_with_every_body(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            first, second = await place.peer(), await place.peer()
            # Bodies that look like a head, or end like one.
            for body in (b"12345", b"54321", b"\r\n\r\n ", b"POST "):
                for peer in (first, second):
                    await peer.say(ONE % (5, body))
                    assert (await peer.answer())[2] == b"POST /one? " + body
            assert len(place.listener.heads._known) == 1

    run(test)


def test_what_is_not_one_whole_request_is_taken_apart_as_ever(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            for _ in range(2):
                # Two at once, one in pieces, and one whose body comes later.
                await peer.say(ONE % (1, b"a") + ONE % (1, b"b"))
                assert [(await peer.answer())[2] for _ in range(2)] == [b"POST /one? a", b"POST /one? b"]
                for piece in (ONE % (1, b"c")).partition(b"host"):
                    await peer.say(piece)
                    await asyncio.sleep(0)
                assert (await peer.answer())[2] == b"POST /one? c"
                await peer.say((ONE % (1, b"d"))[:-1])
                await peer.say(b"d")
                assert (await peer.answer())[2] == b"POST /one? d"
                await peer.say(ONE % (1, b"e"))
                assert (await peer.answer())[2] == b"POST /one? e"
            # One that says less than comes: the rest is no request.
            await peer.say(ONE % (1, b"fg\r\n\r\n"))
            assert (await peer.answer())[2] == b"POST /one? f"
            assert (await peer.end()).startswith(b"HTTP/1.1 400 ")

    run(test)


def test_a_body_that_looks_like_a_request_is_a_body(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            inner = ONE % (1, b"a")
            await peer.say(inner)
            assert (await peer.answer())[2] == b"POST /one? a"
            [connection] = place.listener.connections.all()
            for shape in (ONE, CHUNKED):
                outer = shape % (2 * len(inner), inner * 2)
                begin = outer.index(inner)
                # Each part comes by itself, in the very bytes of a request that is known.
                for part in (outer[:begin], inner, inner, outer[begin + 2 * len(inner) :]):
                    connection.data_received(part)
                assert (await peer.answer())[2].endswith(b" " + inner * 2)
            connection.data_received(inner)
            assert (await peer.answer())[2] == b"POST /one? a"
            # Nor in the middle of a head.
            connection.data_received(b"POST /two HTTP/1.1\r\nx: y\r\n")
            connection.data_received(inner)
            assert (await peer.answer())[0] == 400

    run(test)


def test_a_request_that_is_the_last_or_waits_to_go_on_is_not_known_again(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            for extra in (b"connection: close\r\n", b"expect: 100-continue\r\n", b"upgrade: other\r\n"):
                for _ in range(2):
                    peer = await place.peer()
                    await peer.say(ONE.replace(b"host", extra + b"host") % (1, b"a"))
                    if extra.startswith(b"expect"):
                        assert (await peer.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
                    assert (await peer.answer())[2] == b"POST /one? a"
            assert place.listener.heads._known == {}

    run(test)


def test_no_more_heads_are_kept_than_there_is_room_for(run: Any) -> None:
    async def test() -> None:
        async with served(echo) as place:
            peer = await place.peer()
            for number in range(MOST_HEADS + 10):
                await peer.say(b"POST /%d HTTP/1.1\r\ncontent-length: 0\r\n\r\n" % number)
                assert (await peer.answer())[0] == 200
            await peer.say(b"POST / HTTP/1.1\r\nx: " + b"y" * 5000 + b"\r\ncontent-length: 0\r\n\r\n")
            assert (await peer.answer())[0] == 200
            assert 0 < len(place.listener.heads._known) <= MOST_HEADS
            assert max(map(len, place.listener.heads._known)) < 4096

    run(test)


_request = st.tuples(st.sampled_from(list(SHAPES)), st.binary(min_size=1, max_size=6))


@settings(max_examples=60, deadline=None)
@given(requests=st.lists(_request, min_size=1, max_size=12), cuts=st.lists(st.integers(1, 400), max_size=6))
def test_however_requests_are_cut_up_each_is_answered_for_what_it_is(
    requests: list[tuple[bytes, bytes]], cuts: list[int]
) -> None:
    async def test() -> None:
        async with served(echo) as place:
            warm = await place.peer()
            for path, body in requests:
                await warm.say(SHAPES[path] % (len(body), body))
                assert (await warm.answer())[2] == b"POST " + path + b" " + body
            peer = await place.peer()
            stream = b"".join(SHAPES[path] % (len(body), body) for path, body in requests)
            begin = 0
            for end in sorted({min(cut, len(stream)) for cut in cuts} | {len(stream)}):
                await peer.say(stream[begin:end])
                await asyncio.sleep(0)
                begin = end
            answers = [(await peer.answer())[2] for _ in requests]
            assert answers == [b"POST " + path + b" " + body for path, body in requests]

    asyncio.run(asyncio.wait_for(test(), 60))
