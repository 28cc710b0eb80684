"""Nonsense of every kind: no crash, no hang, nothing left behind, and one answer to each request.

Ten thousand cases in all.
"""

import asyncio
import gc
import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_clients import HttpClient
from wire_kit import BOUND, build, call, initialize, stateless

from kumihimo.wire.conversation import Conversation
from kumihimo.wire.framing import Framing
from kumihimo.wire.http import HttpServer
from kumihimo.wire.jsonrpc import KNOWN_METHODS
from kumihimo.wire.stdio_loop import run_loop

pytestmark = pytest.mark.slow
FAULTS: list[BaseException] = []


def cases(count: int) -> Any:
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def _note(what: str, fault: BaseException) -> None:
    """The tool `fail` has a fault on purpose."""
    if not isinstance(fault, KeyError):
        FAULTS.append(fault)


def server() -> Any:
    return build(on_fault=_note)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
ids = st.integers() | st.text(max_size=8)
names = st.sampled_from(["add", "add_later", "who", "fail", "echo", "ask_name", "report", "change", "greet", "nothing"])
fields = st.fixed_dictionaries(
    {},
    optional={
        "name": names | json_values,
        "arguments": st.fixed_dictionaries({"a": st.integers(), "b": st.integers()}) | json_values,
        "uri": st.sampled_from(["note://one", "note://1/text"]) | json_values,
        "cursor": json_values,
        "level": st.sampled_from(["debug", "emergency"]) | json_values,
        "ref": st.just({"type": "ref/prompt", "name": "greet"}) | json_values,
        "argument": st.just({"name": "who", "value": "a"}) | json_values,
        "requestId": ids | json_values,
        "taskId": json_values,
        "inputResponses": json_values,
        "requestState": json_values,
        "notifications": st.just({"toolsListChanged": True}) | json_values,
        "protocolVersion": st.sampled_from(["2024-11-05", "2025-03-26", "2025-11-25"]) | json_values,
        "capabilities": st.just({"elicitation": {}}) | json_values,
        "clientInfo": json_values,
        "_meta": json_values
        | st.fixed_dictionaries(
            {
                "io.modelcontextprotocol/protocolVersion": st.just("2026-07-28") | json_values,
                "io.modelcontextprotocol/clientCapabilities": st.just({}) | json_values,
            },
            optional={"progressToken": ids | json_values, "io.modelcontextprotocol/logLevel": json_values},
        ),
    },
)
methods = st.sampled_from([*sorted(KNOWN_METHODS - {"subscriptions/listen"}), "notifications/cancelled"]) | st.text(
    max_size=8
)
protocol_messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": ids | json_values,
        "method": methods | json_values,
        "params": fields | json_values,
        "result": json_values,
    },
)


def _drop(request_id: Any, coroutine: Any, framed: bool) -> None:
    coroutine.close()


def converse(chunks: list[bytes]) -> list[Any]:
    """Feed a conversation without an event loop; what it wrote, as JSON."""
    written: list[bytes] = []
    conversation = Conversation(server(), None)
    conversation.attach(written.append, _drop)
    framing = Framing(100_000)
    for chunk in chunks:
        for message in framing.take(chunk):
            conversation.receive(message)
    conversation.close()
    return [json.loads(frame.body) for data in written for frame in Framing(100_000).feed(data)]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@cases(4000)
@given(st.lists(st.binary(max_size=120), max_size=6))
def test_any_bytes(chunks: list[bytes]) -> None:
    for answer in converse([*chunks, b"\n"]):
        for one in answer if isinstance(answer, list) else [answer]:
            assert "error" in one


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@cases(2500)
@given(st.lists(json_values, max_size=5), st.booleans())
def test_any_json(values: list[Any], handshake: bool) -> None:
    lines = [json.dumps(value, allow_nan=True).encode() + b"\n" for value in values]
    greeting = [json.dumps(initialize("2025-03-26")).encode() + b"\n"] if handshake else []
    converse([*greeting, *lines])


@cases(1500)
@given(st.lists(protocol_messages, max_size=6), st.sampled_from([None, "2025-03-26", "2025-11-25"]))
def test_any_protocol_messages_on_a_loop(messages: list[Any], revision: str | None) -> None:
    reader, feeder = os.pipe()
    output, writer = os.pipe()
    os.set_blocking(output, False)
    try:
        sent = ([initialize(revision)] if revision else []) + messages
        os.write(feeder, b"".join(json.dumps(message).encode() + b"\n" for message in sent)[:60_000])
        os.close(feeder)
        conversation = Conversation(server(), None)
        FAULTS.clear()
        run_loop(conversation, Framing(100_000), reader, writer, [], None)
        assert conversation.calls == {}
        assert conversation.server.changes._listeners == {}
        assert FAULTS == []
        data = b""
        try:
            while chunk := os.read(output, 1 << 20):
                data += chunk
        except BlockingIOError:
            pass
        answers = [json.loads(line) for line in data.split(b"\n") if line]
        assert all(answer["jsonrpc"] == "2.0" for answer in answers if isinstance(answer, dict))
    finally:
        for descriptor in (reader, output, writer):
            os.close(descriptor)


header_values = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)


@cases(2000)
@given(
    protocol_messages | st.binary(max_size=60) | json_values,
    st.fixed_dictionaries(
        {},
        optional={
            "mcp_protocol_version": st.sampled_from(["2026-07-28", "2025-11-25", "2025-03-26"]) | header_values,
            "mcp_session_id": header_values,
            "mcp_method": st.sampled_from(sorted(KNOWN_METHODS)) | header_values,
            "mcp_name": header_values,
            "accept": st.sampled_from(["application/json", "text/event-stream", "*/*"]) | header_values,
            "last_event_id": header_values,
        },
    ),
    st.sampled_from(["POST", "POST", "POST", "GET", "DELETE", "PATCH"]),
    st.booleans(),
)
def test_any_http_request(message: Any, headers: dict[str, str], method: str, handshake: bool) -> None:
    async def test() -> None:
        app = HttpServer(server())
        client = HttpClient(app)
        FAULTS.clear()
        if handshake:
            await client.begin()
        reply, task = client.start(method, message, **headers)
        reply.hang_up()  # type: ignore[attr-defined]
        async with asyncio.timeout(BOUND):
            await task
        assert reply.status in {0, 200, 202, 204, 400, 403, 404, 405, 406, 413, 415}
        assert FAULTS == []
        assert app._post.running == set()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(test())


def test_many_calls_leave_nothing_behind() -> None:
    async def test() -> None:
        app = HttpServer(build())
        client = HttpClient(app)
        await client.begin()

        async def round_of_calls(count: int) -> None:
            for number in range(count):
                await client.post(call(number, "add", {"a": 1, "b": 2}))
                await client.post(call(number, "report", _meta={"progressToken": 1}))
                await client.post_stateless(stateless(call(number, "add_later", {"a": 1, "b": 2})))

        await round_of_calls(400)  # fills what is kept on purpose, up to its bound
        gc.collect()
        before = len(gc.get_objects())
        await round_of_calls(400)
        gc.collect()
        assert len(gc.get_objects()) - before < 400
        await app.close()

    asyncio.run(test())
