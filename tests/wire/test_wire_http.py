"""Streamable HTTP by hand, in this process."""

import asyncio
import json
from typing import Any

import pytest
from wire_clients import HttpClient, until
from wire_kit import CANCELLED, HANDSHAKES, STARTED, build, call, initialize, request, stateless

from kumihimo.wire.http import HttpServer, Refusal


def run(test: Any, **options: Any) -> None:
    """Run a coroutine function with a client of a fresh application."""
    server_options = {name: options.pop(name) for name in ("key", "subject", "clock") if name in options}

    async def whole() -> None:
        STARTED.clear()
        CANCELLED.clear()
        app = HttpServer(build(**server_options), **options)
        try:
            await test(HttpClient(app))
        finally:
            await app.close()

    asyncio.run(whole())


@pytest.mark.parametrize("revision", HANDSHAKES)
def test_each_revision_with_a_handshake_gets_a_session_and_json(revision: str) -> None:
    async def test(client: HttpClient) -> None:
        result = await client.begin(revision)
        assert result["protocolVersion"] == revision
        reply = await client.post(call(1, "add", {"a": 1, "b": 2}))
        assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
        assert json.loads(reply.json["result"]["content"][0]["text"]) == {"sum": 3}
        assert (await client.post(call(2, "add_later", {"a": 1, "b": 2}))).json["result"]["isError"] is False
        assert (await client.post(request(3, "nonsense"))).json["error"]["code"] == -32601

    run(test)


def test_a_session_is_good_in_every_process_with_the_same_key() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin("2025-06-18")
        elsewhere = HttpClient(HttpServer(build(key=b"k" * 32)))
        elsewhere.session, elsewhere.revision = client.session, client.revision
        shown = (await elsewhere.post(call(1, "who"))).json["result"]["structuredContent"]
        assert shown == {"caller": None, "revision": "2025-06-18", "client": "hand"}
        stranger = HttpClient(HttpServer(build(key=b"other")))
        stranger.session, stranger.revision = client.session, client.revision
        assert (await stranger.post(call(1, "who"))).status == 404

    run(test, key=b"k" * 32)


def test_a_session_ends_by_delete_by_age_and_for_others() -> None:
    now = [1000.0]
    callers = iter(["aki", "aki", "bo", "aki", "aki", "aki", "aki", "aki"])

    async def test(client: HttpClient) -> None:
        await client.begin()
        assert (await client.post(request(1, "ping"))).status == 404  # bo
        assert (await client.post(request(1, "ping"))).status == 200
        now[0] += 11
        assert (await client.post(request(1, "ping"))).status == 404
        now[0] -= 11
        assert (await client.post(request(1, "ping"))).status == 200
        reply, ended = client.start("DELETE")
        await ended
        assert reply.status == 204
        assert (await client.post(request(1, "ping"))).status == 404

    run(test, session_seconds=10, clock=lambda: now[0], subject=str, authenticate=lambda _: next(callers))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"mcp_session_id": ""}, 400),
        ({"mcp_session_id": "forged.token"}, 404),
        ({"mcp_protocol_version": "1999-01-01"}, 400),
        ({"content_type": "text/plain"}, 415),
        ({"accept": "text/html"}, 406),
        ({"host": "evil.example"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "[::1]:9"}, 200),
        ({"accept": "*/*"}, 200),
    ],
)
def test_headers_decide_who_is_served(headers: dict[str, str], status: int) -> None:
    async def test(client: HttpClient) -> None:
        await client.begin()
        assert (await client.post(request(1, "ping"), **headers)).status == status

    run(test)


def test_methods_and_bodies_that_are_not_served() -> None:
    async def test(client: HttpClient) -> None:
        assert (await client.post(b"{")).status == 400
        assert (await client.post(b"x" * 2000)).status == 413
        for method, status in (("PUT", 405), ("GET", 405), ("DELETE", 405)):
            reply, task = client.start(method)
            await task
            assert reply.status == status
        await client.begin()
        assert (await client.post([request(1, "ping")])).status == 400
        assert (await client.post({"jsonrpc": "2.0", "id": "kumi-9", "result": {}})).status == 202

    run(test, most_body_bytes=1000)


def test_batches_of_2025_03_26_are_answered_together() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin("2025-03-26")
        batch = [
            call(1, "add", {"a": 1, "b": 1}),
            call(2, "add_later", {"a": 2, "b": 2}),
            {"jsonrpc": "2.0"},
            initialize(),
        ]
        answers = {answer["id"]: answer for answer in (await client.post(batch)).json}
        assert answers[2]["result"]["content"][0]["text"] == '{"sum":4}'
        assert answers[None]["error"]["code"] == -32600
        assert (await client.post([{"jsonrpc": "2.0", "method": "notifications/x"}])).status == 202
        assert (await client.post(b"[]")).status == 400

    run(test)


def test_who_may_call_is_asked_first() -> None:
    async def authenticate(scope: Any) -> Any:
        headers = dict(scope["headers"])
        token = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
        return token.decode() if token else Refusal()

    async def test(client: HttpClient) -> None:
        refused = await client.post(initialize())
        assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
        reply = await client.post_stateless(call(1, "who"), authorization="Bearer aki")
        assert reply.json["result"]["structuredContent"]["caller"] == "aki"

    run(test, authenticate=authenticate)


def test_progress_makes_the_answer_a_stream() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin()
        reply = await client.post(call(1, "report", _meta={"progressToken": 5}))
        assert reply.headers["content-type"] == "text/event-stream"
        assert [event.get("id") for event in reply.events] == [None, None, None, None, 1]
        assert reply.body.startswith(b"id: ")
        assert b"retry: " in reply.body.split(b"\n\n")[0]
        assert len(set(reply.event_ids)) == 6
        stateless_reply = await client.post_stateless(call(1, "report", _meta={"progressToken": 5}))
        assert [event.get("id") for event in stateless_reply.events] == [None, None, None, 1]
        assert stateless_reply.event_ids == []

    run(test)


def test_a_call_that_takes_long_becomes_a_stream_that_is_kept_alive() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin()
        reply, task = client.start("POST", call(1, "quiet_wait"))
        await until(lambda: reply.body.count(b":\n\n") >= 2)
        await client.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        await task
        assert reply.events == []

    run(test, keep_alive_seconds=0.01)


def test_the_client_is_asked_on_the_stream_and_answers_by_post() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin(elicitation={})
        reply, task = client.start("POST", call(1, "ask_name"))
        await until(lambda: reply.events)
        question = reply.events[0]
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
        assert (await client.post(answer)).status == 202
        await task
        assert reply.events[1]["result"]["content"][0]["text"] == "decline: None"

    run(test)


@pytest.mark.parametrize("tool", ["wait", "quiet_wait"])
def test_a_cancelled_call_ends_its_connection_without_an_answer(tool: str) -> None:
    async def test(client: HttpClient) -> None:
        await client.begin()
        reply, task = client.start("POST", call(7, tool))
        await until(lambda: STARTED)
        again = await client.post(call(7, "add_later", {"a": 1, "b": 1}))
        assert again.json["error"]["code"] == -32600
        await client.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        await task
        assert CANCELLED == ["7"]
        assert 7 not in [event.get("id") for event in reply.events]

    run(test)


def test_a_stateless_client_that_hangs_up_cancels_its_call() -> None:
    async def test(client: HttpClient) -> None:
        message = call(1, "quiet_wait")
        headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "quiet_wait"}
        reply, task = client.start("POST", stateless(message), **headers)
        await until(lambda: STARTED)
        reply.hang_up()  # type: ignore[attr-defined]
        await task
        assert CANCELLED == ["1"]

    run(test)


def test_a_client_with_a_session_that_hangs_up_without_a_stream_cancels_its_call() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin()
        reply, task = client.start("POST", call(1, "quiet_wait"))
        await until(lambda: STARTED)
        reply.hang_up()  # type: ignore[attr-defined]
        await task
        assert CANCELLED == ["1"]

    run(test)


def test_a_stream_whose_client_does_not_come_back_is_cancelled() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin()
        reply, task = client.start("POST", call(1, "wait"))
        await until(lambda: reply.events)
        reply.hang_up()  # type: ignore[attr-defined]
        await task
        assert CANCELLED == ["1"]

    run(test, resume_seconds=0.01)


def test_a_broken_stream_is_taken_up_where_it_was_left() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin(elicitation={})
        reply, task = client.start("POST", call(1, "ask_name"))
        await until(lambda: reply.events)
        reply.hang_up()  # type: ignore[attr-defined]
        primed = reply.event_ids[0]
        resumed, listening = client.start("GET", last_event_id=primed)
        await until(lambda: resumed.events)
        question = resumed.events[0]
        assert question == reply.events[0]
        await client.post({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}})
        await task
        await listening
        assert resumed.events[1]["result"]["content"][0]["text"] == "cancel: None"
        late, later = client.start("GET", last_event_id=resumed.event_ids[0])
        await later
        assert late.events == resumed.events[1:]

    run(test)


def test_a_client_that_takes_json_alone_gets_the_result_alone() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin(elicitation={})
        reply = await client.post(call(1, "report", _meta={"progressToken": 5}), accept="application/json")
        assert reply.json["result"]["content"][0]["text"] == "reported"
        asked = await client.post(call(2, "ask_name"), accept="application/json")
        assert asked.json["error"]["code"] == -32600

    run(test)


def test_a_stream_that_was_taken_up_and_left_again_is_cancelled() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin()
        reply, task = client.start("POST", call(1, "wait"))
        await until(lambda: reply.events)
        resumed, listening = client.start("GET", last_event_id=reply.event_ids[0])
        await until(lambda: resumed.events)
        reply.hang_up()  # type: ignore[attr-defined]
        resumed.hang_up()  # type: ignore[attr-defined]
        await listening
        await task
        assert CANCELLED == ["1"]

    run(test, resume_seconds=0.01)


def test_get_hears_changes_and_a_subscription() -> None:
    async def test(client: HttpClient) -> None:
        await client.begin()
        reply, listening = client.start("GET")
        await until(lambda: reply.status)
        await client.post(request(1, "resources/subscribe", uri="note://one"))
        await client.post(call(2, "change"))
        await until(lambda: len(reply.events) == 2)
        assert reply.events[1]["params"] == {"uri": "note://one"}
        reply.hang_up()  # type: ignore[attr-defined]
        await listening

    run(test)


def test_listening_ends_with_a_result_when_the_server_does() -> None:
    async def test(client: HttpClient) -> None:
        message = request("s", "subscriptions/listen", notifications={"toolsListChanged": True})
        headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "subscriptions/listen"}
        reply, task = client.start("POST", stateless(message), **headers)
        await until(lambda: reply.events)
        await client.post_stateless(call(1, "change"))
        await until(lambda: len(reply.events) == 2)
        await client.app.close()
        await task
        assert reply.events[2]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s"

    run(test)


@pytest.mark.parametrize(
    ("message", "headers", "status", "code"),
    [
        (call(1, "who"), {"mcp_name": "other"}, 400, -32020),
        (call(1, "who"), {"mcp_name": ""}, 400, -32020),
        (call(1, "who"), {"mcp_name": "=?base64?d2hv?="}, 200, None),
        (call(1, "who"), {"mcp_name": "=?base64?!!?="}, 400, -32020),
        (call(1, "who"), {"mcp_method": "tools/list"}, 400, -32020),
        (call(1, "who"), {"mcp_method": ""}, 400, -32020),
        (call(1, "who"), {"mcp_protocol_version": ""}, 400, -32020),
        (call(1, "who"), {"mcp_protocol_version": "2025-11-25"}, 400, -32020),
        (request(1, "nonsense"), {}, 404, -32601),
        (request(1, "ping"), {}, 404, -32601),
        (call(1, "none"), {}, 200, -32602),
        (call(1, "ask_name"), {}, 400, -32021),
        (call(1, "fail"), {}, 200, -32603),
        (call(1, "stray"), {}, 200, -32603),
    ],
)
def test_stateless_requests_are_checked_against_their_headers(
    message: Any, headers: dict[str, str], status: int, code: int | None
) -> None:
    async def test(client: HttpClient) -> None:
        params = message.get("params", {})
        defaults = {
            "mcp_protocol_version": "2026-07-28",
            "mcp_method": message["method"],
            "mcp_name": params.get("name", ""),
        }
        reply = await client.post(stateless(message), **(defaults | headers))
        assert reply.status == status
        assert reply.json.get("error", {}).get("code") == code
        assert reply.json["id"] == 1

    run(test)


def test_a_stateless_notification_is_accepted_and_a_response_is_not() -> None:
    async def test(client: HttpClient) -> None:
        version = {"mcp_protocol_version": "2026-07-28"}
        assert (await client.post({"jsonrpc": "2.0", "method": "notifications/x"}, **version)).status == 202
        assert (await client.post({"jsonrpc": "2.0", "id": 1, "result": {}}, **version)).status == 400

    run(test)
