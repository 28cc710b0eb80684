"""The short way of reading calls gives the bytes of the long way, or leaves the message to it."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from wire_kit import HANDSHAKES, add, build, call, initialize, request, stateless, wait

from kumihimo.wire.catalog import Catalog
from kumihimo.wire.conversation import MOST_CALLS, Conversation, ParkedCall
from kumihimo.wire.framing import Frame, Framing
from kumihimo.wire.quick import QuickCalls
from kumihimo.wire.request import Request
from kumihimo.wire.tool import Tool, ToolRefusal

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")


class Say(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    times: int = 1


def read_say(caller: Any, arguments: Raw) -> bytes:
    said = msgspec.json.decode(arguments, type=Say)
    if said.times < 0:
        raise ToolRefusal("a negative number of times")
    return msgspec.json.encode({"caller": caller, "said": said.text * min(said.times, 3)})


def say(request: Request, arguments: Raw) -> bytes:
    try:
        return read_say(request.caller, arguments)
    except msgspec.DecodeError as error:
        raise ToolRefusal(str(error)) from None


CATALOG = Catalog(
    [
        Tool(name="say", handler=say, read=read_say),
        Tool(name="add", handler=add),
        Tool(name="wait", handler=wait),
    ]
)


class Talk:
    """A conversation after its handshake, with what it wrote and the calls that it began."""

    def __init__(self, revision: str) -> None:
        self.written: list[bytes] = []
        self.begun: list[Any] = []
        self.conversation = Conversation(build(catalog=CATALOG), "aki")
        self.conversation.attach(self.written.append, self._begin)
        self.conversation.receive(json.dumps(initialize(revision)).encode())
        self.written.clear()

    def _begin(self, request_id: Any, coroutine: Any, framed: bool) -> None:
        coroutine.close()
        self.begun.append((request_id, framed))
        self.conversation.calls[request_id] = ParkedCall(request_id, coroutine, framed)

    def by_long_way(self, line: bytes) -> tuple[list[bytes], list[Any]]:
        self.conversation.receive(Frame(line, framed=False))
        return self._taken()

    def by_either_way(self, line: bytes) -> tuple[list[bytes], list[Any]]:
        self.conversation.receive(line)
        return self._taken()

    def _taken(self) -> tuple[list[bytes], list[Any]]:
        taken = (list(self.written), list(self.begun))
        self.written.clear()
        self.begun.clear()
        self.conversation.calls.clear()
        return taken


TALKS = {revision: (Talk(revision), Talk(revision)) for revision in HANDSHAKES}


def require_same(revision: str, line: bytes) -> list[bytes]:
    long, either = TALKS[revision]
    expected = long.by_long_way(line)
    assert either.by_either_way(line) == expected
    return expected[0]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
texts = st.text(max_size=30) | st.sampled_from(
    ['"', "\\", "\x7f", "\n", "\0", "日本語", "\u2028", "</script>", "\ud800"]
)
spoken = st.fixed_dictionaries({"text": texts}, optional={"times": st.integers(-2, 4)})
metas = st.fixed_dictionaries(
    {}, optional={"progressToken": st.integers() | st.text(max_size=4) | anything, "traceparent": st.text(max_size=4)}
)
params = st.fixed_dictionaries(
    {"name": st.sampled_from(["say", "say", "add", "wait", "nothing"])},
    optional={"arguments": spoken | anything, "_meta": metas | anything, "uri": anything, "cursor": anything},
)
calls = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": st.integers() | st.text(max_size=6),
        "method": st.just("tools/call"),
        "params": params,
    },
    optional={"result": anything, "trace": anything},
)
odd_calls = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | anything,
        "id": anything,
        "method": st.sampled_from(["tools/call", "tools/list", "ping"]) | anything,
        "params": params | anything,
    },
)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(HANDSHAKES), calls | odd_calls, st.sampled_from([None, 1]))
def test_every_message_is_answered_as_by_the_long_way(revision: str, message: Any, indent: int | None) -> None:
    line = json.dumps(message, indent=indent).replace("\n", " ").encode()
    require_same(revision, line)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(HANDSHAKES), calls, st.integers(0, 200))
def test_a_message_that_is_cut_off_is_refused_as_by_the_long_way(revision: str, message: Any, kept: int) -> None:
    require_same(revision, json.dumps(message).encode()[:kept] or b"{")


@pytest.mark.parametrize("revision", HANDSHAKES)
@pytest.mark.parametrize("meta", [{}, {"_meta": {"progressToken": 7}}])
def test_a_reading_call_does_take_the_short_way(revision: str, meta: dict[str, Any]) -> None:
    line = json.dumps(call("é", "say", {"text": 'a "b" \\ \n 日本'}, **meta)).encode()
    [answer] = require_same(revision, line)
    peer = TALKS[revision][0].conversation.peer
    assert peer is not None
    assert QuickCalls(peer, {}).answer(line) == answer
    assert QuickCalls(peer, {"é"}).answer(line) is None


def test_what_is_no_reading_call_does_not() -> None:
    peer = TALKS["2025-11-25"][0].conversation.peer
    assert peer is not None
    quick = QuickCalls(peer, {})
    for message in (
        call(1, "add", {"a": 1, "b": 2}),
        call(1, "say", {"text": "a", "times": -1}),
        call(1, "say", {"text": 1}),
        stateless(call(1, "say", {"text": "a"})),
        request(1, "ping"),
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "say", "arguments": {"text": "a"}}},
        [call(1, "say", {"text": "a"})],
    ):
        assert quick.answer(json.dumps(message).encode()) is None


def test_ids_under_way_and_too_many_calls_are_refused_as_ever() -> None:
    talk = Talk("2025-11-25")
    line = json.dumps(call(1, "say", {"text": "a"})).encode()
    talk.conversation.calls[1] = object()
    [refused], _ = talk.by_either_way(line)
    assert b"under way" in refused
    talk.conversation.calls.update({f"call {number}": object() for number in range(MOST_CALLS)})
    [refused], _ = talk.by_either_way(line)
    assert b"more than 4096 requests" in refused
    [answered], _ = talk.by_either_way(line)
    assert b'"said' in answered


def test_what_is_sent_after_a_line_is_a_line() -> None:
    talk = Talk("2025-11-25")
    body = json.dumps(request(1, "ping")).encode()
    talk.conversation.receive(Frame(body, framed=True))
    talk.conversation.receive(json.dumps(call(2, "say", {"text": "a"})).encode())
    talk.conversation.send(b"{}")
    framed, *lines = talk.written
    assert framed.startswith(b"Content-Length")
    assert all(line.startswith(b"{") and line.endswith(b"}\n") for line in lines)


pieces = st.lists(
    st.sampled_from([b"{}", b'{"a":1}', b"[1]", b"", b"  ", b"nonsense", b"Content-Length: 2\r\n\r\n{}", b'{"b":'])
    | st.binary(max_size=12)
)


@given(pieces, st.booleans(), pieces)
def test_lines_are_taken_as_they_are_fed(first: list[bytes], whole: bool, second: list[bytes]) -> None:
    fed, taken = Framing(40), Framing(40)
    for data in (b"\n".join(first) + b"\n" * whole, b"\n".join(second) + b"\n"):
        frames = [one if isinstance(one, Frame) else Frame(one, framed=False) for one in taken.take(data)]
        assert frames == fed.feed(data)
    assert taken.end() == fed.end()
