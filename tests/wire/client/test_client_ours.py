"""The client side against our own server: every carrier, both eras."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from client_kit import US, Peer, greeting, http, ours_on_http, result, run, until
from everywhere import ERAS, cancelled, everywhere, session_with

from kumihimo.wire.client.connect import Era, connect
from kumihimo.wire.client.errors import ConnectionFailed, Refused, TimedOut
from kumihimo.wire.client.targets import Url
from kumihimo.wire.errors import RpcError
from kumihimo.wire.http import HttpServer, Refusal
from tests.wire.wire_kit import CANCELLED, STARTED, TOOLS, build, echo

in_both_eras = pytest.mark.parametrize("era", ERAS)


@everywhere
def test_everything_a_server_offers_can_be_used(transport: str, era: Era) -> None:
    async def test() -> None:
        async with session_with(transport, era) as session:
            assert session.revision.name == ERAS[era]
            assert (session.greeting.server.name, session.greeting.instructions) == ("kit", "Hi")
            assert "tools" in session.greeting.capabilities
            assert "add" in [tool["name"] for tool in await session.list_tools()]
            assert (await session.call_tool("add", {"a": 1, "b": 2})).structured_content == {"sum": 3}
            refused = await session.call_tool("add", {"a": "x"})
            assert refused.is_error
            assert "Expected `int`" in refused.text
            assert [resource["uri"] for resource in await session.list_resources()] == ["note://one"]
            assert len(await session.list_resource_templates()) == 1
            assert (await session.read_resource("note://one"))[0]["text"] == "one"
            assert (await session.read_resource("note://7/text"))[0]["text"] == "number 7"
            assert [prompt["name"] for prompt in await session.list_prompts()] == ["greet"]
            prompt = await session.get_prompt("greet", {"who": "Aki"})
            assert prompt["messages"][0]["content"]["text"] == "Greet Aki."
            await session.ping()
            with pytest.raises(RpcError) as unknown:
                await session.call_tool("nothing")
            assert unknown.value.code == -32602
            assert session.noise == 0

    run(test())


@everywhere
def test_many_calls_are_under_way_at_once_and_each_gets_its_own_answer(transport: str, era: Era) -> None:
    async def test() -> None:
        async with session_with(transport, era) as session:
            slow = asyncio.ensure_future(session.call_tool("quiet_wait", seconds=0))
            answers = await asyncio.gather(*(session.call_tool("add_later", {"a": n, "b": 1}) for n in range(200)))
            assert [answer.structured_content["sum"] for answer in answers] == list(range(1, 201))
            assert not slow.done()
            slow.cancel()

    run(test())


@everywhere
def test_progress_is_told_before_the_answer(transport: str, era: Era) -> None:
    async def test() -> None:
        told: list[tuple[float, float | None, str | None]] = []
        async with session_with(transport, era) as session:
            answer = await session.call_tool("report", on_progress=lambda *heard: told.append(heard))
            assert answer.text == "reported"
            assert told == [(0, 2, "step 0"), (1, 2, "step 1"), (2, 2, "step 2")]

    run(test())


@in_both_eras
def test_a_call_that_times_out_is_cancelled_at_the_server_and_the_session_goes_on(era: Era) -> None:
    async def test() -> None:
        async with session_with("http", era) as session:
            with pytest.raises(TimedOut) as late:
                await session.call_tool("quiet_wait", seconds=0.2)
            assert late.value.delivered
            await until(lambda: STARTED and CANCELLED == STARTED)
            assert (await session.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}

    run(test())


@everywhere
def test_who_stops_waiting_lets_the_server_know(transport: str, era: Era) -> None:
    async def test() -> None:
        async with session_with(transport, era) as session:
            gone = asyncio.ensure_future(session.call_tool("wait"))
            # Under way before this one is answered.
            await session.call_tool("add", {"a": 1, "b": 1})
            if transport == "http":
                await until(lambda: STARTED)
            gone.cancel()
            with pytest.raises(asyncio.CancelledError):
                await gone
            await until(lambda: cancelled(transport, session))
            assert (await session.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}

    run(test())


@everywhere
def test_changes_are_heard_by_whoever_listens(transport: str, era: Era) -> None:
    async def test() -> None:
        heard: list[str] = []
        ready = asyncio.Event()
        async with session_with(transport, era, on_notification=lambda method, _: heard.append(method)) as session:
            listening = asyncio.ensure_future(session.listen(on_ready=ready.set))
            async with asyncio.timeout(20):
                await ready.wait()
            # Nothing is missed from then on.
            await session.call_tool("change")
            await until(lambda: "notifications/tools/list_changed" in heard)
            assert not listening.done()
            listening.cancel()

    run(test())


@in_both_eras
def test_lists_of_many_pages_are_whole(era: Era) -> None:
    async def test() -> None:
        async with ours_on_http(server={"page_size": 2}) as url, await connect(Url(url=url), US, era=era) as session:
            assert [tool["name"] for tool in await session.list_tools()] == [tool.name for tool in TOOLS]

    run(test())


def test_a_session_that_the_server_has_forgotten_is_begun_again_and_the_call_arrives_once() -> None:
    async def test() -> None:
        app = HttpServer(build())
        async with ours_on_http(app) as url, await connect(Url(url=url), US, era="handshake") as session:
            await session.call_tool("add", {"a": 1, "b": 1})
            for token in tuple(app._sessions._known):
                app._sessions.end(token)
            answers = await asyncio.gather(*(session.call_tool("add_later", {"a": n, "b": 1}) for n in range(20)))
            assert [answer.structured_content["sum"] for answer in answers] == list(range(1, 21))
            # One of them has shaken hands again, for all.
            assert len(app._sessions._known) == 1

    run(test())


@in_both_eras
def test_a_wrong_token_is_a_refusal_and_not_an_old_server(era: Era) -> None:
    def authenticate(scope: dict) -> object:
        return "owner" if dict(scope["headers"]).get(b"authorization") == b"Bearer right" else Refusal()

    async def test() -> None:
        async with ours_on_http(authenticate=authenticate) as url:
            with pytest.raises(Refused) as refused:
                await connect(Url(url=url, bearer="wrong"), US, era=era)
            assert (refused.value.status, refused.value.delivered) == (401, False)
            async with await connect(Url(url=url, bearer="right"), US, era=era) as session:
                assert (await session.call_tool("who")).structured_content["caller"] == "owner"

    run(test())


def test_nobody_there_is_a_connection_that_failed() -> None:
    async def test() -> None:
        for url in ("http://127.0.0.1:9/mcp", "ftp://127.0.0.1/", "http://", "http://127.0.0.1:nine/"):
            with pytest.raises(ConnectionFailed) as failed:
                await connect(Url(url=url), US)
            assert not failed.value.delivered
        with pytest.raises(ConnectionFailed) as header:
            await connect(Url(url="http://127.0.0.1:9/", bearer="a\r\nHost: b"), US)
        assert "Host" not in str(header.value)

    run(test())


def test_connections_are_kept_and_used_again() -> None:
    async def test() -> None:
        async with ours_on_http() as url, await connect(Url(url=url), US) as session:
            for _ in range(50):
                await session.call_tool("add", {"a": 1, "b": 1})
            pool = session._carrier._pool  # type: ignore[attr-defined]
            assert (len(pool._idle), len(pool._busy)) == (1, 0)

    run(test())


def test_arguments_that_a_tool_wants_in_headers_are_mirrored_there() -> None:
    from kumihimo.wire.catalog import Catalog
    from kumihimo.wire.tool import Tool

    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    tool = Tool(name="ask", description="Asks", input_schema=schema, handler=echo)

    async def test() -> None:
        async with (
            ours_on_http(server={"catalog": Catalog(tools=[tool])}) as url,
            await connect(Url(url=url), US, era="stateless") as session,
        ):
            for region in ("tokyo", "東京", " spaced ", "=?base64?eA==?="):
                # Never listed before the first call: the server says what it misses.
                assert (await session.call_tool("ask", {"region": region})).structured_content == {"region": region}

    run(test())


@pytest.mark.parametrize(("supported", "revision"), [(["2026-07-28"], "2026-07-28"), (["2025-11-25"], "2025-11-25")])
def test_a_server_that_refuses_a_version_and_says_which_it_has_is_spoken_to_in_that(
    supported: list[str], revision: str
) -> None:
    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        method = request.get("method", "")
        if len(peer.requests) == 1:
            error = {"code": -32022, "message": "no", "data": {"supported": supported, "requested": "2026-07-28"}}
            refusal = {"jsonrpc": "2.0", "id": request["id"], "error": error}
            writer.write(http(json.dumps(refusal).encode(), status="400 Bad Request"))
        elif method == "server/discover":
            writer.write(http(result(request, supportedVersions=supported, capabilities={})))
        else:
            writer.write(http(greeting(request)) if method == "initialize" else http(b"", status="202 Accepted"))

    async def test() -> None:
        peer = Peer(answer)
        async with peer.listening() as url, await connect(url, US) as session:
            assert session.revision.name == revision
            assert peer.methods[:2] == [
                "server/discover",
                "initialize" if session.revision.handshake else "server/discover",
            ]

    run(test())
