"""Lines and Content-Length frames, mixed, cut anywhere."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_clients import stdio_client
from wire_kit import call, request

from kumihimo.wire.framing import Frame, Framing, frame


def header(body: bytes, name: bytes = b"Content-Length") -> bytes:
    return b"%b: %d\r\n\r\n%b" % (name, len(body), body)


def test_each_message_is_answered_in_its_own_framing() -> None:
    with stdio_client() as client:
        framed = json.dumps(request("framed", "ping")).encode()
        client.send_bytes(header(framed))
        assert client.receive_framed()["id"] == "framed"
        assert client.exchange(request("line", "ping"))["id"] == "line"
        slow = json.dumps(call("later", "add_later", {"a": 1, "b": 2}, _meta={"progressToken": 1})).encode()
        client.send_bytes(header(slow, b"content-length"))
        assert client.receive_framed()["result"]["structuredContent"] == {"sum": 3}
        client.send_bytes(b"Content-Type: application/json\r\n" + header(framed))
        assert client.receive_framed()["id"] == "framed"


def test_json_on_several_lines_goes_out_as_one_line() -> None:
    with stdio_client() as client:
        assert client.exchange(call(1, "pretty"))["result"]["structuredContent"] == {"lines": [1]}


@pytest.mark.parametrize("framed", [False, True])
def test_a_message_that_is_too_large_is_refused_and_skipped(framed: bool) -> None:
    with stdio_client("limit=2000") as client:
        large = json.dumps(call(1, "echo", {"text": "x" * 300_000})).encode()
        client.send_bytes(header(large) if framed else large + b"\n")
        answer = client.receive_framed() if framed else client.receive()
        assert answer["error"]["code"] == -32600
        assert "2000 bytes" in answer["error"]["message"]
        assert client.exchange(request(2, "ping"))["result"] == {}


def test_a_broken_header_is_refused_and_the_line_goes_on() -> None:
    with stdio_client() as client:
        client.send_bytes(b"Content-Type: text/plain\r\n\r\n")
        assert client.receive_framed()["error"]["code"] == -32600
        client.send_bytes(b"Call me Ishmael\n")
        assert client.receive()["error"]["code"] == -32600
        assert client.exchange(request(2, "ping"))["result"] == {}


def test_the_last_line_needs_no_newline() -> None:
    framing = Framing(1000)
    assert framing.feed(b'{"a":1}') == []
    assert framing.end() == [Frame(b'{"a":1}', framed=False)]


def test_a_message_goes_out_in_either_framing() -> None:
    assert frame(b'{"a":\n1}', framed=False) == b'{"a": 1}\n'
    assert frame(b"{}", framed=True) == b"Content-Length: 2\r\n\r\n{}"


messages = st.lists(
    st.tuples(st.binary(max_size=60).map(lambda data: b'{"' + data.replace(b"\n", b"") + b"}"), st.booleans())
)


@given(messages, st.lists(st.integers(0, 500)))
def test_messages_come_out_as_they_went_in_however_they_are_cut(
    sent: list[tuple[bytes, bool]], cuts: list[int]
) -> None:
    data = b"".join(header(body) if framed else body + b"\n" for body, framed in sent)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    framing = Framing(10_000)
    received = [one for start, end in pairwise(places) for one in framing.feed(data[start:end])]
    assert received == [Frame(body, framed) for body, framed in sent]


@given(st.lists(st.binary(max_size=200)))
def test_any_bytes_are_cut_without_a_fault_and_without_growing(chunks: list[bytes]) -> None:
    framing = Framing(64)
    for chunk in chunks:
        for one in framing.feed(chunk):
            assert len(one.body) <= 64
    assert len(framing._buffer) <= 64 + 8192 + 200
    framing.end()
