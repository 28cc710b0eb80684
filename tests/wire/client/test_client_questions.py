"""What servers ask while a call is under way: it reaches whoever made that call, and nobody else."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from bridges import STREAM
from client_kit import US, Peer, chunk, greets, http, result, run, until
from everywhere import everywhere, target
from msgspec.structs import replace
from websocket_peer import WebSocketPeer, frame
from websockets.frames import Opcode

from kumihimo.wire.client.allowance import Allowance
from kumihimo.wire.client.connect import Era, connect
from kumihimo.wire.client.errors import ConnectionLost, TimedOut
from kumihimo.wire.errors import RpcError

OFFERS: dict[str, Any] = {"elicitation": {}, "sampling": {}}
OPEN = replace(US, capabilities=OFFERS)
CONTENT = [{"type": "text", "text": "fine"}]


def question(number: int | str, method: str = "elicitation/create", **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def says(name: str):
    async def ask(method: str, params: Any) -> dict[str, Any]:
        if method == "sampling/createMessage":
            return {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}
        return {"action": "accept", "content": {"name": name}}

    return ask


async def nobody(method: str, params: Any) -> dict[str, Any]:
    raise AssertionError("the wrong one is asked")


@everywhere
def test_what_a_tool_asks_reaches_who_called_it(transport: str, era: Era) -> None:
    async def test() -> None:
        async with target(transport) as there, await connect(there, OPEN, era=era, on_request=nobody) as session:
            assert (await session.call_tool("ask_name", on_input=says("Aki"))).text == "accept: Aki"
            assert (await session.call_tool("ask_two", on_input=says("Aki"))).text == "Aki then 2"
            # A call that is under way beside it and can't be asked is not in the way.
            beside = asyncio.ensure_future(session.call_tool("quiet_wait", seconds=0))
            assert (await session.call_tool("ask_name", on_input=says("Beni"))).text == "accept: Beni"
            beside.cancel()
        async with target(transport) as there, await connect(there, OPEN, era=era, on_request=says("Chie")) as session:
            assert (await session.call_tool("ask_name")).text == "accept: Chie"

    run(test())


@everywhere
def test_of_several_callers_none_is_asked_for_another(transport: str, era: Era) -> None:
    asked: list[str] = []

    async def record(method: str, params: Any) -> dict[str, Any]:
        asked.append(method)
        return {"action": "decline"}

    async def test() -> None:
        async with target(transport) as there, await connect(there, OPEN, era=era, on_request=record) as session:
            calls = [session.call_tool("ask_name", on_input=says(f"n{number}")) for number in range(5)]
            answers = await asyncio.gather(*calls, return_exceptions=True)
            for number, answer in enumerate(answers):
                if era == "auto" or transport == "http":
                    # Each question has come with the answer, or on the way to it.
                    assert answer.text == f"accept: n{number}"  # type: ignore[union-attr]
                else:
                    assert isinstance(answer, RpcError) or answer.is_error or answer.text == f"accept: n{number}"  # type: ignore[union-attr]
            if era == "handshake" and transport != "http":
                assert any(isinstance(answer, RpcError) or answer.is_error for answer in answers)  # type: ignore[union-attr]
            assert asked == []

    run(test())


def test_only_what_a_call_offers_is_asked_of_it() -> None:
    async def test() -> None:
        async with target("http") as there, await connect(there, US, era="stateless") as session:
            with pytest.raises(RpcError) as missing:
                await session.call_tool("ask_name", on_input=nobody)
            assert missing.value.code == -32021
            answer = await session.call_tool("ask_name", on_input=says("Aki"), offers={"elicitation": {}})
            assert answer.text == "accept: Aki"

    run(test())


def answering(*sent: bytes) -> WebSocketPeer:
    """Sends these when it is called, and answers the call once as many answers have come."""

    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        if "method" in request:
            peer.call = request  # type: ignore[attr-defined]
            for data in sent:
                await peer.send(frame(data))
        replies = [one for one in peer.requests if "method" not in one]
        if len(replies) == len(sent):
            told = [reply.get("result", reply.get("error", {}).get("code")) for reply in replies]
            await peer.send(frame(result(peer.call, content=[{"type": "text", "text": json.dumps(told)}])))  # type: ignore[attr-defined]

    return WebSocketPeer(then)


def test_a_ping_and_what_nobody_can_answer_get_an_answer_all_the_same() -> None:
    async def test() -> None:
        peer = answering(question("p", "ping"), question(1, "roots/list"), question(2))
        async with peer.listening() as url, await connect(url, US) as session:
            assert json.loads((await session.call_tool("any")).text) == [{}, -32601, -32601]

    run(test())


def test_a_fault_of_who_is_asked_is_told_as_one_and_an_error_as_it_is() -> None:
    async def faulty(method: str, params: Any) -> dict[str, Any]:
        if method == "roots/list":
            raise RpcError(-5, "no")
        if method == "sampling/createMessage":
            return {"made of": object()}
        raise KeyError("a fault of ours")

    async def test() -> None:
        broken: list[BaseException] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: broken.append(told["exception"]))
        peer = answering(question(1, "roots/list"), question(2), question(3, "sampling/createMessage"))
        async with peer.listening() as url, await connect(url, US) as session:
            told = json.loads((await session.call_tool("any", on_input=faulty)).text)
            assert sorted(told) == [-32603, -32603, -5]
        await until(lambda: {type(error) for error in broken} == {KeyError, TypeError})

    run(test())


def test_a_server_that_asks_without_end_is_answered_by_nobody() -> None:
    async def test() -> None:
        ask, _, _ = asked_until_stopped()
        peer = answering(*(question(number) for number in range(70)))
        async with peer.listening() as url, await connect(url, US) as session:
            call = asyncio.ensure_future(session.call_tool("any", on_input=ask))
            await until(lambda: sum("method" not in one for one in peer.requests) == 6)
            assert {one["error"]["code"] for one in peer.requests if "method" not in one} == {-32603}
            call.cancel()

    run(test())


def test_a_subscription_that_the_server_ends_is_over() -> None:
    """On a pipe nothing but this says so."""

    class Modern(WebSocketPeer):
        async def _hear(self, opcode: Opcode, data: bytes) -> None:
            request = json.loads(data) if opcode is Opcode.TEXT else {}
            if request.get("method") == "server/discover":
                await self.send(frame(result(request, supportedVersions=["2026-07-28"], capabilities={})))
            elif request.get("method") == "subscriptions/listen":
                meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": str(request["id"])}, "notifications": {}}
                for method, params in (
                    ("notifications/subscriptions/acknowledged", {}),
                    ("notifications/subscriptions/acknowledged", meta),
                    ("notifications/cancelled", {"requestId": request["id"]}),
                ):
                    await self.send(frame(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()))

    async def test() -> None:
        ready: list[str] = []
        async with Modern().listening() as url, await connect(url, US) as session:
            async with asyncio.timeout(10):
                await session.listen(on_ready=lambda: ready.append("ready"))
            assert (ready, session.noise) == (["ready"], 1)

    run(test())


def asked_until_stopped() -> tuple[Any, asyncio.Event, asyncio.Event]:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def ask(method: str, params: Any) -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return {}

    return ask, begun, stopped


def test_a_question_that_the_server_withdraws_is_not_answered() -> None:
    withdrawn = {"jsonrpc": "2.0", "method": "notifications/cancelled"}

    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        if request["method"] == "ping":
            await peer.send(frame(result(request)))
        else:
            peer.call = request  # type: ignore[attr-defined]
            await peer.send(frame(question("q")))

    async def test() -> None:
        ask, begun, stopped = asked_until_stopped()
        peer = WebSocketPeer(then)
        async with peer.listening() as url, await connect(url, US) as session:
            call = asyncio.ensure_future(session.call_tool("any", on_input=ask))
            await begun.wait()
            for params in ({}, {"requestId": "other"}, {"requestId": "q"}):
                await peer.send(frame(json.dumps(withdrawn | {"params": params}).encode()))
            await stopped.wait()
            await peer.send(frame(result(peer.call, content=CONTENT)))  # type: ignore[attr-defined]
            assert (await call).text == "fine"
            # Whatever was sent before this has arrived before it.
            await session.ping()
            assert all("method" in request for request in peer.requests)
            assert session.noise == 1

    run(test())


@pytest.mark.parametrize("end", ["answered", "cancelled", "closed", "cut"])
def test_with_a_call_ends_what_was_asked_because_of_it(end: str) -> None:
    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        peer.call = request  # type: ignore[attr-defined]
        await peer.send(frame(question("q")))

    async def test() -> None:
        ask, begun, stopped = asked_until_stopped()
        peer = WebSocketPeer(then)
        async with peer.listening() as url, await connect(url, US) as session:
            call = asyncio.ensure_future(session.call_tool("any", on_input=ask))
            await begun.wait()
            if end == "answered":
                await peer.send(frame(result(peer.call, content=CONTENT)))  # type: ignore[attr-defined]
                assert (await call).text == "fine"
            elif end == "cancelled":
                call.cancel()
            elif end == "closed":
                await session.close()
            else:
                peer.writer.close()
            await asyncio.wait((call,))
            await asyncio.wait_for(stopped.wait(), 10)
            if end in ("answered", "cancelled"):
                await until(lambda: any(one.get("id") == "q" and "error" in one for one in peer.requests))
            elif end != "cancelled":
                assert isinstance(call.exception(), ConnectionLost)

    run(test())


def test_with_a_session_ends_what_was_asked_because_of_no_call() -> None:
    async def test() -> None:
        ask, begun, stopped = asked_until_stopped()
        peer = WebSocketPeer()
        async with peer.listening() as url:
            session = await connect(url, US, on_request=ask)
            await peer.send(frame(question("q")))
            await begun.wait()
            await session.close()
            assert stopped.is_set()

    run(test())


def asks_over_http() -> Peer:
    """Asks on the stream of each call; for the tool `aside` on the stream that belongs to no call. Tells what it heard."""
    waiting: dict[str, Any] = {}
    aside: list[asyncio.StreamWriter] = []

    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if peer.heads[-1].startswith("GET"):
            writer.write(STREAM)
            aside.append(writer)
        elif peer.heads[-1].startswith("DELETE"):
            writer.write(http(b""))
        elif "method" not in request:
            writer.write(http(b"", status="202 Accepted"))
            call, place = waiting.pop(request["id"])
            said = request["result"]["content"]["name"] if "result" in request else str(request["error"]["code"])
            answer = result(call, content=[{"type": "text", "text": said}])
            place.write(chunk(b"data: " + answer + b"\n\n") + b"0\r\n\r\n")
        else:
            name = request["params"]["name"]
            waiting[name] = (request, writer)
            writer.write(STREAM)
            (aside[0] if name == "aside" else writer).write(chunk(b"data: " + question(name) + b"\n\n"))

    return greets(then, session="abc")


def test_over_http_a_question_belongs_to_the_call_whose_stream_it_comes_on() -> None:
    async def test() -> None:
        peer, ready = asks_over_http(), asyncio.Event()
        async with peer.listening() as url, await connect(url, US, on_request=says("the session")) as session:
            listening = asyncio.ensure_future(session.listen(on_ready=ready.set))
            await ready.wait()
            names = ["one", "two", "three", "aside"]
            answers = await asyncio.gather(*(session.call_tool(name, on_input=says(name)) for name in names))
            # Whose the last one is can't be known while there are several.
            assert [answer.text for answer in answers] == ["one", "two", "three", "-32601"]
            assert (await session.call_tool("aside", on_input=says("the only one"))).text == "the only one"
            assert (await session.call_tool("aside")).text == "the session"
            listening.cancel()

    run(test())


def test_the_time_in_which_somebody_thinks_does_not_count() -> None:
    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        if "method" in request:
            await peer.send(frame(question("q")))

    async def slowly(method: str, params: Any) -> dict[str, Any]:
        await asyncio.sleep(1.6)
        return {}

    async def test() -> None:
        peer = WebSocketPeer(then)
        async with peer.listening() as url, await connect(url, US) as session:
            began = asyncio.get_running_loop().time()
            with pytest.raises(TimedOut):
                # Never answered: the time of the server counts, also after it has asked.
                await session.call_tool("any", on_input=slowly, seconds=1.5)
            assert asyncio.get_running_loop().time() - began >= 1.6
            assert any("method" not in request for request in peer.requests)

    run(test())


class StillLoop(asyncio.SelectorEventLoop):
    """Its clock is set by the test."""

    now = 100.0

    def time(self) -> float:
        return self.now


def test_an_allowance_is_used_up_by_the_time_under_way_and_by_no_other() -> None:
    loop = StillLoop()

    async def pass_time(seconds: float) -> None:
        loop.now += seconds
        for _ in range(3):
            await asyncio.sleep(0)

    async def test() -> None:
        over: list[float] = []
        allowance = Allowance(10.0)
        allowance.begin(over.append)
        await pass_time(4.0)
        allowance.end()
        await pass_time(100.0)
        assert not allowance.used_up
        allowance.begin(over.append)
        await pass_time(4.0)
        allowance.hold()
        allowance.hold()
        await pass_time(100.0)
        allowance.release()
        await pass_time(100.0)
        allowance.release()
        await pass_time(1.5)
        assert over == []
        await pass_time(1.0)
        assert over == [10.0]
        allowance.end()
        assert allowance.used_up
        for seconds in (0, None):
            for_ever = Allowance(seconds)
            for_ever.begin(over.append)
            await pass_time(10_000.0)
            for_ever.end()
            assert not for_ever.used_up
        assert over == [10.0]

    loop.run_until_complete(test())
    loop.close()
