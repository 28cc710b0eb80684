"""Calls over HTTP that no task waits for: somebody else does them, and tells when they are done."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from msgspec import Raw
from serving_kit import Peer, Place, served
from wire_clients import stateless_headers, until
from wire_kit import BOUND, NAME_FORM, call, initialize, read_sum, stateless

from kumihimo.wire.catalog import Catalog
from kumihimo.wire.http import HttpServer
from kumihimo.wire.http_held import HeldCall
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.request import Request
from kumihimo.wire.server import Server
from kumihimo.wire.tool import Done, Tool, ToolResult
from tests.conftest import StillThere


class Errand:
    """What somebody else does."""

    def __init__(self, request: Request, done: Done) -> None:
        self.request, self.done, self.cancelled = request, done, False

    def cancel(self) -> None:
        self.cancelled = True


class Shop:
    """A server whose tool `errand` is done when the test says so, and what its clients need."""

    def __init__(self, **options: Any) -> None:
        self.errands: list[Errand] = []
        self.declines = False
        self.faults: list[BaseException] = []
        self.server = Server(
            Implementation(name="shop"),
            Catalog(
                [
                    Tool(name="errand", handler=self._long, relay=self._relay),
                    Tool(name="add", handler=lambda *_: b'{"sum":"the long way"}', read=read_sum),
                    Tool(name="broken", handler=self._long, relay=self._break),
                ]
            ),
            on_fault=lambda _, fault: self.faults.append(fault),
        )
        self.application = HttpServer(self.server, is_lasting=lambda _: True, **options)
        self.place: Place

    def _relay(self, request: Request, arguments: Raw, done: Done) -> Errand | None:
        if self.declines:
            return None
        self.errands.append(Errand(request, done))
        return self.errands[-1]

    def _break(self, request: Request, arguments: Raw, done: Done) -> Errand | None:
        raise KeyError("a fault of ours")

    async def _long(self, request: Request, arguments: Raw) -> bytes:
        return b'{"way":"long"}'

    async def errand(self, count: int = 1) -> Errand:
        await until(lambda: len(self.errands) == count)
        return self.errands[-1]

    @property
    def tasks(self) -> list[Any]:
        return [exchange.task for exchange in self.place.listener.running]

    @property
    def is_empty(self) -> bool:
        return not (self.application._post.watch.all() or self.application._post.running or self.place.listener.running)


@contextlib.asynccontextmanager
async def open_shop(**options: Any) -> AsyncGenerator[Shop]:
    shop = Shop(**options)
    async with served(shop.application) as shop.place:
        yield shop
        await until(lambda: shop.is_empty)


def http(message: Any, **headers: str) -> bytes:
    body = json.dumps(message).encode()
    told = {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        **headers,
    }
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in told.items())
    return f"POST /mcp HTTP/1.1\r\n{lines}content-length: {len(body)}\r\n\r\n".encode() + body


class Client:
    """With a session of its own, or with none, on one connection."""

    def __init__(self, peer: Peer, session: str | None, capabilities: dict[str, Any]) -> None:
        self.peer, self.session, self._capabilities = peer, session, capabilities

    def data(self, message: Any, **headers: str) -> bytes:
        if self.session is None:
            return http(stateless(message, **self._capabilities), **stateless_headers(message), **headers)
        return http(message, mcp_session_id=self.session, **headers)

    async def send(self, message: Any, **headers: str) -> None:
        await self.peer.say(self.data(message, **headers))

    async def ask(self, message: Any) -> tuple[int, Any]:
        await self.send(message)
        status, _, body = await self.peer.answer()
        return status, json.loads(body) if body else None


async def client(shop: Shop, *, modern: bool = False, **capabilities: Any) -> Client:
    peer = await shop.place.peer()
    if modern:
        return Client(peer, None, capabilities)
    await peer.say(http(initialize(**capabilities)))
    _, headers, _ = await peer.answer()
    return Client(peer, headers[b"mcp-session-id"].decode(), capabilities)


def events(stream: bytes) -> list[Any]:
    return [json.loads(line[6:]) for line in stream.split(b"\n") if line.startswith(b"data: {")]


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "stateless"])
def test_a_call_that_somebody_else_does_is_answered_without_a_task(run: Any, modern: bool) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop, modern=modern)
            for number in (1, 2):
                await one.send(call(number, "errand"))
                errand = await shop.errand(number)
                assert shop.tasks == [None]
                errand.done(b'{"n":%d}' % number)
                status, headers, body = await one.peer.answer()
                result = json.loads(body)["result"]
                assert (status, headers[b"content-type"], json.loads(body)["id"]) == (200, b"application/json", number)
                assert (result["structuredContent"], result["isError"]) == ({"n": number}, False)
                assert json.loads(result["content"][0]["text"]) == {"n": number}

    run(test)


def test_a_call_that_is_over_is_gone_without_being_looked_for(run: Any, still_there: StillThere) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop)
            await one.send(call(1, "errand"))
            (await shop.errand()).done(b"{}")
            await one.peer.answer()
            shop.errands.clear()
            assert still_there(HeldCall, Request) == []

    run(test)


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "stateless"])
def test_a_call_whose_body_comes_behind_its_head_is_answered_without_a_task_too(run: Any, modern: bool) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop, modern=modern)
            connection = shop.place.listener.connections.all()[0]
            for number in (1, 2):
                data = one.data(call(number, "errand"))
                head, end, body = data.partition(b"\r\n\r\n")
                for piece in (head + end, body[:9], body[9:]):
                    assert not shop.tasks
                    connection.data_received(piece)
                assert (len(shop.errands), shop.tasks) == (number, [None])
                shop.errands[-1].done(b'{"n":%d}' % number)
                _, _, told = await one.peer.answer()
                assert json.loads(told)["result"]["structuredContent"] == {"n": number}

    run(test)


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "stateless"])
def test_what_is_left_to_the_long_way_is_answered_by_it(run: Any, modern: bool) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            shop.declines = True
            one = await client(shop, modern=modern)
            _, told = await one.ask(call(1, "errand"))
            assert told["result"]["structuredContent"] == {"way": "long"}
            assert (await one.ask(call(2, "add", {"a": 1, "b": 2})))[1]["result"]["structuredContent"] == {"sum": 3}
            # Arguments that it can't read are the long way's to refuse.
            _, told = await one.ask(call(3, "add", {"a": "x"}))
            assert told["result"]["structuredContent"] == {"sum": "the long way"}
            _, told = await one.ask(call(4, "unknown"))
            assert told["error"]["code"] == -32602

    run(test)


def test_a_call_that_takes_long_gets_a_task_and_is_answered_all_the_same(run: Any) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop)
            await one.send(call(1, "errand"))
            errand = await shop.errand()
            await until(lambda: shop.tasks and shop.tasks[0] is not None)
            errand.done(b'{"n":1}')
            status, headers, body = await one.peer.answer()
            assert (status, headers[b"content-type"]) == (200, b"application/json")
            assert json.loads(body)["result"]["structuredContent"] == {"n": 1}

    run(test)


def test_a_call_that_says_nothing_for_long_becomes_a_stream(run: Any) -> None:
    async def test() -> None:
        async with open_shop(keep_alive_seconds=0.05) as shop:
            one = await client(shop)
            await one.send(call(1, "errand"))
            errand = await shop.errand()
            head = await asyncio.wait_for(one.peer.reader.readuntil(b"\r\n\r\n"), BOUND)
            assert b"text/event-stream" in head
            errand.done(b'{"n":1}')
            assert events(await one.peer.chunks())[-1]["result"]["structuredContent"] == {"n": 1}

    run(test)


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "stateless"])
def test_what_is_said_before_the_answer_comes_before_it_in_a_stream(run: Any, modern: bool) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop, modern=modern)
            await one.send(call(1, "errand", _meta={"progressToken": "p"}))
            errand = await shop.errand()
            await errand.request.progress(1, 2)
            errand.done(b'{"n":1}')
            _, headers, body = await one.peer.answer()
            assert headers[b"content-type"] == b"text/event-stream"
            progress, told = events(body)
            assert progress["params"] == {"progressToken": "p", "progress": 1, "total": 2}
            assert told["result"]["structuredContent"] == {"n": 1}

    run(test)


def test_the_client_can_be_asked_while_somebody_else_is_at_work(run: Any) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop, elicitation={})
            await one.send(call(1, "errand"))
            errand = await shop.errand()
            asking = asyncio.ensure_future(errand.request.elicit("Your name?", NAME_FORM))
            question = b""
            while b"elicitation/create" not in question:
                question = await asyncio.wait_for(one.peer.reader.readuntil(b"\n"), BOUND)
            told = json.loads(question[6:])
            other = Client(await shop.place.peer(), one.session, {})
            answer = {"jsonrpc": "2.0", "id": told["id"], "result": {"action": "accept", "content": {"name": "Aki"}}}
            assert (await other.ask(answer))[0] == 202
            errand.done(ToolResult(structured=(await asking).content, is_error=True))
            rest = await asyncio.wait_for(one.peer.reader.readuntil(b"0\r\n\r\n"), BOUND)
            result = events(rest)[-1]["result"]
            assert (result["structuredContent"], result["isError"]) == ({"name": "Aki"}, True)

    run(test)


@pytest.mark.parametrize("late", [False, True], ids=["soon", "late"])
def test_a_cancelled_call_is_told_to_who_does_it_and_gets_no_answer(run: Any, late: bool) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop)
            await one.send(call(1, "errand"))
            errand = await shop.errand()
            if late:
                await until(lambda: shop.tasks[0] is not None)
            other = Client(await shop.place.peer(), one.session, {})
            notification = {"method": "notifications/cancelled", "params": {"requestId": 1}}
            assert (await other.ask({"jsonrpc": "2.0", **notification}))[0] == 202
            _, headers, body = await one.peer.answer()
            assert (headers[b"content-type"], events(body)) == (b"text/event-stream", [])
            assert errand.cancelled
            # What comes of it all the same is for nobody.
            errand.done(b'{"n":1}')
            assert (await one.ask(call(2, "add", {"a": 1, "b": 2})))[0] == 200

    run(test)


@pytest.mark.parametrize("late", [False, True], ids=["soon", "late"])
def test_a_client_that_has_gone_is_told_to_who_does_its_call(run: Any, late: bool) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop)
            # A second request on the same line is begun for nobody.
            await one.peer.say(
                http(call(1, "errand"), mcp_session_id=str(one.session))
                + http(call(2, "errand"), mcp_session_id=str(one.session))
            )
            errand = await shop.errand()
            if late:
                await until(lambda: shop.tasks[0] is not None)
            one.peer.reset()
            await until(lambda: errand.cancelled)
            errand.done(b'{"n":1}')
            await until(lambda: shop.is_empty)
            assert len(shop.errands) == 1

    run(test)


def test_calls_under_way_end_with_the_server(run: Any) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop)
            await one.send(call(1, "errand"))
            errand = await shop.errand()
            await shop.application.close()
            assert errand.cancelled
            assert events((await one.peer.answer())[2]) == []

    run(test)


def test_a_mistake_of_ours_is_an_answer_and_is_written_down(run: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop)
            await one.send(call(1, "errand"))
            (await shop.errand()).done(KeyError("a fault of ours"))
            assert json.loads((await one.peer.answer())[2])["error"]["code"] == -32603
            assert [type(fault) for fault in shop.faults] == [KeyError]
            # Where it is not known how far it was, nobody tries again.
            await one.send(call(2, "broken"))
            assert (await one.peer.end()).startswith(b"HTTP/1.1 500 ")

    run(test)
    assert "KeyError: 'a fault of ours'" in caplog.text


def test_an_id_that_is_under_way_is_refused(run: Any) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop)
            await one.send(call(1, "errand"))
            errand = await shop.errand()
            other = Client(await shop.place.peer(), one.session, {})
            assert "under way" in (await other.ask(call(1, "errand")))[1]["error"]["message"]
            errand.done(b"{}")
            assert (await one.peer.answer())[0] == 200

    run(test)


def test_a_session_that_was_ended_is_unknown_whatever_was_known_of_it(run: Any) -> None:
    async def test() -> None:
        async with open_shop() as shop:
            one = await client(shop)
            message = call(1, "add", {"a": 1, "b": 2})
            for _ in range(3):
                assert (await one.ask(message))[0] == 200
            await one.peer.say(
                f"DELETE /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nmcp-session-id: {one.session}\r\n\r\n".encode()
            )
            assert (await one.peer.answer())[0] == 204
            assert (await one.ask(message))[0] == 404

    run(test)


def test_only_who_stays_the_same_is_not_asked_again_who_it_is(run: Any) -> None:
    async def test() -> None:
        seen: list[str] = []

        def authenticate(scope: Any) -> str:
            seen.append(dict(scope["headers"])[b"x-who"].decode())
            return "somebody"

        shop = Shop(authenticate=authenticate)
        shop.application._is_lasting = lambda headers: headers[b"x-who"] == b"owner"
        async with served(shop.application) as shop.place:
            peer = await shop.place.peer()
            await peer.say(http(initialize(), x_who="owner"))
            session = (await peer.answer())[1][b"mcp-session-id"].decode()
            seen.clear()
            for who in ("owner", "guest"):
                for _ in range(3):
                    await peer.say(http(call(1, "add", {"a": 1, "b": 2}), x_who=who, mcp_session_id=session))
                    assert (await peer.answer())[0] == 200
        assert seen == ["owner", "guest", "guest", "guest"]

    run(test)
