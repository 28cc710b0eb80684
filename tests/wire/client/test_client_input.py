"""Answers of the stateless revision that ask for more: everything is asked at once, and the request sent again with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from client_kit import US, Peer, discovers, http, result, run

from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import BadAnswer, TimedOut
from kumihimo.wire.client.session import Session
from kumihimo.wire.errors import RpcError

NAME = {"method": "elicitation/create", "params": {"message": "Your name?"}}
ROOTS = {"method": "roots/list"}
# Every escape stays as it is.
STATE = rb'"caf\u00e9 \/ \ud83d\ude00 \"x\" +/=="'
DONE = {"content": [{"type": "text", "text": "done"}], "contents": [{"uri": "a:b", "text": "done"}], "messages": []}


def wants(request: dict[str, Any], *, state: bytes | None = STATE, **asked: Any) -> bytes:
    parts = [b'"resultType":"input_required"']
    if asked:
        parts.append(b'"inputRequests":' + json.dumps(asked).encode())
    if state is not None:
        parts.append(b'"requestState":' + state)
    return http(b'{"jsonrpc":"2.0","id":%d,"result":{%b}}' % (request["id"], b",".join(parts)))


def then(*answers: Callable[[dict[str, Any]], bytes]) -> Peer:
    """A peer that answers one after the other to what it is asked, and is content at last."""

    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        asked = len(peer.requests) - 2
        writer.write(answers[asked](request) if asked < len(answers) else http(result(request, **DONE)))

    return discovers(answer)


async def named(method: str, params: Any) -> dict[str, Any]:
    return {"roots": []} if method == "roots/list" else {"action": "accept", "content": {"name": params["message"]}}


USES: dict[str, Callable[..., Awaitable[Any]]] = {
    "tools/call": lambda session, **options: session.call_tool("any", {"a": 1}, **options),
    "prompts/get": lambda session, **options: session.get_prompt("any", {"a": "1"}, **options),
    "resources/read": lambda session, **options: session.read_resource("a:b", **options),
}


@pytest.mark.parametrize("method", USES)
@pytest.mark.parametrize("by", ["call", "session"])
def test_the_request_is_sent_again_with_what_was_asked_for_and_the_state_as_it_came(method: str, by: str) -> None:
    async def test() -> None:
        peer = then(
            lambda request: wants(request, who=NAME, where=ROOTS), lambda request: wants(request, who=NAME, state=None)
        )
        on_request = named if by == "session" else None
        async with peer.listening() as url, await connect(url, US, on_request=on_request) as session:
            await USES[method](session, **({"on_input": named} if by == "call" else {}))
        first, second, third = peer.requests[1:]
        assert len({first["id"], second["id"], third["id"]}) == 3
        responses = {"who": {"action": "accept", "content": {"name": "Your name?"}}, "where": {"roots": []}}
        assert second["params"] == first["params"] | {"inputResponses": responses, "requestState": json.loads(STATE)}
        assert b'"requestState":' + STATE in peer.bodies[2]
        assert third["params"] == first["params"] | {"inputResponses": {"who": responses["who"]}}
        for head in peer.heads[1:]:
            assert f"Mcp-Method: {method}\r\n" in head
            assert "Mcp-Name: " in head

    run(test())


def test_everything_is_asked_at_once() -> None:
    async def test() -> None:
        both, asked = asyncio.Event(), []

        async def ask(method: str, params: Any) -> dict[str, Any]:
            asked.append(method)
            if len(asked) == 2:
                both.set()
            await both.wait()
            return {}

        peer = then(lambda request: wants(request, one=NAME, two=NAME))
        async with peer.listening() as url, await connect(url, US) as session:
            assert (await session.call_tool("any", on_input=ask)).text == "done"

    run(test())


def test_a_server_that_only_wants_to_be_asked_again_is_and_nobody_is_needed_for_it() -> None:
    async def test() -> None:
        peer = then(lambda request: wants(request, state=b'"later"'), lambda request: wants(request, state=b'"soon"'))
        async with peer.listening() as url, await connect(url, US) as session:
            assert (await session.call_tool("any")).text == "done"
        assert [request["params"].get("requestState") for request in peer.requests[1:]] == [None, "later", "soon"]
        assert not any("inputResponses" in request["params"] for request in peer.requests)

    run(test())


def test_where_nobody_can_be_asked_it_is_no_answer_and_whoever_passes_it_on_gets_it() -> None:
    async def test() -> None:
        peer = then(*[lambda request: wants(request, who=NAME)] * 4)
        async with peer.listening() as url, await connect(url, US) as session:
            for use in USES.values():
                with pytest.raises(BadAnswer):
                    await use(session)
            raw = json.loads(bytes(await session.call_tool_raw("any")))
            assert (raw["resultType"], raw["inputRequests"]) == ("input_required", {"who": NAME})
            assert len(peer.requests) == 5

    run(test())


SHAPES: dict[str, bytes] = {
    "nothing asked": b'{"resultType":"input_required"}',
    "nothing at all": b'{"resultType":"input_required","inputRequests":{}}',
    "no requests": b'{"resultType":"input_required","inputRequests":[1],"requestState":"x"}',
    "no method": b'{"resultType":"input_required","inputRequests":{"a":{"params":{}}}}',
    "a method that is none": b'{"resultType":"input_required","inputRequests":{"a":{"method":7}}}',
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_wish_that_makes_no_sense_is_no_answer(shape: str) -> None:
    async def test() -> None:
        peer = then(lambda request: http(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (request["id"], SHAPES[shape])))
        async with peer.listening() as url, await connect(url, US) as session:
            with pytest.raises(BadAnswer):
                await session.call_tool("any", on_input=named)
            assert (await session.call_tool("any", on_input=named)).text == "done"

    run(test())


def test_a_server_that_is_never_content_is_given_up() -> None:
    async def test() -> None:
        peer = then(*[lambda request: wants(request, who=NAME)] * 100)
        async with peer.listening() as url, await connect(url, US) as session:
            with pytest.raises(BadAnswer, match="16 times"):
                await session.call_tool("any", on_input=named)
            assert peer.methods.count("tools/call") == 17

    run(test())


def test_a_list_may_not_ask_for_anything() -> None:
    async def test() -> None:
        peer = then(lambda request: wants(request, who=NAME))
        async with peer.listening() as url, await connect(url, US, on_request=named) as session:
            assert await session.list_tools() == []
            assert len(peer.requests) == 2

    run(test())


def test_who_can_not_answer_fails_the_call_and_the_others_are_not_asked_any_more() -> None:
    async def test() -> None:
        stopped = asyncio.Event()

        async def ask(method: str, params: Any) -> dict[str, Any]:
            if method == "roots/list":
                raise RpcError(-1, "no roots here")
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            return {}

        peer = then(lambda request: wants(request, who=NAME, where=ROOTS))
        async with peer.listening() as url, await connect(url, US) as session:
            with pytest.raises(RpcError, match="no roots here"):
                await session.call_tool("any", on_input=ask)
            assert stopped.is_set()
            assert peer.methods.count("tools/call") == 1

    run(test())


def test_who_stops_waiting_stops_those_who_are_asked() -> None:
    async def test() -> None:
        begun, stopped = asyncio.Event(), asyncio.Event()

        async def ask(method: str, params: Any) -> dict[str, Any]:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            return {}

        peer = then(lambda request: wants(request, who=NAME))
        async with peer.listening() as url, await connect(url, US) as session:
            call = asyncio.ensure_future(session.call_tool("any", on_input=ask))
            await begun.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert stopped.is_set()
            assert peer.methods.count("tools/call") == 1

    run(test())


def test_the_time_that_somebody_thinks_does_not_count_and_the_time_of_the_server_does() -> None:
    async def slowly(method: str, params: Any) -> dict[str, Any]:
        await asyncio.sleep(1.6)
        return {}

    async def test() -> None:
        peer = then(lambda request: wants(request, who=NAME), lambda _: b"")
        async with peer.listening() as url, await connect(url, US) as session:
            began = asyncio.get_running_loop().time()
            with pytest.raises(TimedOut) as late:
                await session.call_tool("any", on_input=slowly, seconds=1.5)
            # First somebody thought for longer than the call may take; then it was the server.
            assert peer.methods.count("tools/call") == 2
            assert asyncio.get_running_loop().time() - began >= 1.6
            assert late.value.delivered

    run(test())


def test_what_a_call_offers_is_said_with_it_and_with_no_other() -> None:
    async def test() -> None:
        peer = then()
        offers = {"elicitation": {"form": {}}}
        async with peer.listening() as url, await connect(url, US) as session:
            await asyncio.gather(*(use(session, offers=offers) for use in USES.values()))
            await session.call_tool("any")
        told = [
            request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] for request in peer.requests[1:]
        ]
        assert told == [offers, offers, offers, {}]
        for request in peer.requests[1:]:
            assert request["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] == "test"

    run(test())


def test_calls_that_are_asked_at_the_same_time_keep_what_is_theirs() -> None:
    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        name = request["params"]["name"]
        state = request["params"].get("requestState")
        if state is None:
            message = {"method": "elicitation/create", "params": {"message": name}}
            writer.write(wants(request, state=json.dumps(f"state of {name}").encode(), who=message))
            return
        said = request["params"]["inputResponses"]["who"]["content"]["name"]
        writer.write(http(result(request, content=[{"type": "text", "text": f"{name} {state} {said}"}])))

    async def test() -> None:
        async def use(session: Session, number: int) -> str:
            return (await session.call_tool(f"tool{number}", on_input=named)).text

        async with discovers(answer).listening() as url, await connect(url, US) as session:
            answers = await asyncio.gather(*(use(session, number) for number in range(50)))
        assert answers == [f"tool{n} state of tool{n} tool{n}" for n in range(50)]

    run(test())
