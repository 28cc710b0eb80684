"""Calls that are none, arguments that are no JSON, and answers of another shape: told as what they are."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.domain.errors import ConfigError
from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.lists import Lists
from kumihimo.hub.upstream import Upstream
from kumihimo.wire.client.listing import Kind
from tests.hub.hub_kit import Scripted, run
from tests.hub.test_calling import ADD, code, said
from tests.wire.client.client_kit import Peer, greets, http, result


@pytest.mark.parametrize("filled", [[], None, {}, {"messages": None}])
def test_a_prompt_of_another_shape_is_told_as_one(tmp_path: Path, filled: Any) -> None:
    alpha = Scripted(tmp_path, "alpha", prompts=[{"name": "greet"}], filled=filled)

    async def asked() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            with pytest.raises(HubError, match="alpha: ") as raised:
                await hub.get_prompt("alpha", "greet")
            assert raised.value.code is Code.EXECUTION_FAILED

    run(asked())


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"name": None}, Code.INVALID_REQUEST),
        ({"name": ["alpha:echo"]}, Code.INVALID_REQUEST),
        *(({"timeout_ms": wrong}, Code.INVALID_REQUEST) for wrong in ("100", -1, 0, True, float("inf"), float("nan"))),
        ({"params": {"a": object()}}, Code.INVALID_PARAMS),
        ({"params": {"a": "\ud800"}}, Code.INVALID_PARAMS),
        ({"params": {None: 1}}, Code.INVALID_PARAMS),
        # JSON has no such number: what would be sent is null.
        ({"params": {"a": float("nan"), "b": 1}}, Code.INVALID_PARAMS),
    ],
)
def test_a_call_that_is_none_is_an_answer_and_nothing_is_sent(
    tmp_path: Path, call: dict[str, Any], expected: Code
) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "add", "inputSchema": ADD})

    async def calls() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            answer = await hub.execute_tool(**{"name": "alpha:add", "params": {"a": 1, "b": 2}, **call})
            assert code(answer) is expected
        assert alpha.calls("add") == 0

    run(calls())


def test_arguments_are_looked_at_as_the_json_that_is_sent(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def calls() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            answer = await hub.execute_tool("alpha:echo", {1: (2, 3)})
            assert said(answer)["arguments"] == {"1": [2, 3]}

    run(calls())


def test_what_a_tool_of_the_program_says_of_its_failure_is_told_as_it_says_it() -> None:
    error = {"code": "RATE_LIMIT_EXCEEDED", "message": "not so fast", "retryable": True}

    async def local() -> None:
        async with Hub() as hub:

            async def handed_on(params: Any) -> Any:
                return await hub.execute_tool(params["tool"])

            hub.register_tool({"name": "hasty", "execute": lambda _: {"success": False, "error": error}})
            hub.register_tool({"name": "fine", "execute": lambda _: {"success": True, "data": 5}})
            hub.register_tool({"name": "through", "execute": handed_on})
            hasty = await hub.execute_tool("hasty")
            assert hasty.error is not None
            assert (hasty.error.code, hasty.error.message, hasty.error.retryable) == tuple(error.values())
            assert (await hub.execute_tool("through", {"tool": "fine"})).data == 5
            assert code(await hub.execute_tool("through", {"tool": "hasty"})) is Code.RATE_LIMIT_EXCEEDED
            assert code(await hub.execute_tool("through", {"tool": "nobody"})) is Code.TOOL_NOT_FOUND

    run(local())


def test_a_tool_of_the_program_has_the_time_of_its_call_too() -> None:
    async def local() -> None:
        async with Hub() as hub:
            hub.register_tool({"name": "never", "execute": lambda _: asyncio.Event().wait()})
            assert code(await hub.execute_tool("never", timeout_ms=50)) is Code.TIMEOUT

    run(local())


@pytest.mark.parametrize("servers", [{"a": {"command": "x"}}, "a", [None], [["a"]], 5])
def test_servers_of_another_shape_are_a_mistake(servers: Any) -> None:
    with pytest.raises(ConfigError):
        Hub(servers=servers)

    async def registered() -> None:
        async with Hub() as hub:
            with pytest.raises(ConfigError):
                await hub.register_server(servers)

    run(registered())


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("number", ["1e999", "1" * 5000])
def test_an_answer_with_a_number_that_only_json_has_is_a_failure_and_raises_nothing(number: str, fails: bool) -> None:
    body = '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"t","n":' + number + '}],"isError":%s}}'

    async def then(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request["method"] == "tools/list":
            writer.write(http(result(request, tools=[{"name": "sum", "inputSchema": {"type": "object"}}])))
        else:
            writer.write(http((body % (request["id"], "true" if fails else "false")).encode()))

    async def calls() -> None:
        async with greets(then).listening() as url, Hub(servers=[{"name": "web", "url": url.url}]) as hub:
            answer = await hub.execute_tool("web:sum")
            assert code(answer) is Code.EXECUTION_FAILED
            assert answer.metadata.attempts == 1

    run(calls())


def test_arguments_that_are_nested_too_deeply_to_be_checked_are_refused(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "array", "uniqueItems": True}}}
    alpha = Scripted(tmp_path, "alpha", {"name": "deep", "inputSchema": schema})
    nested: Any = 1
    for _ in range(300):
        nested = [nested]

    async def calls() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            for params in ({"x": nested}, {"y": [nested, nested]}):
                assert code(await hub.execute_tool("alpha:deep", params)) is Code.INVALID_PARAMS
                assert not await hub.can_execute("alpha:deep", params)
            assert alpha.calls("deep") == 0

    run(calls())


def test_a_mistake_of_ours_with_the_list_of_one_server_takes_the_lists_of_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha, beta = (Scripted(tmp_path, name, {"name": "echo"}) for name in ("alpha", "beta"))
    alone = Lists.alone

    async def broken(lists: Lists, upstream: Upstream, kind: Kind) -> Any:
        if upstream.name == "alpha":
            raise KeyError("a mistake of ours")
        return await alone(lists, upstream, kind)

    monkeypatch.setattr(Lists, "alone", broken)

    async def lists() -> None:
        async with Hub(servers=[alpha.config, beta.config]) as hub:
            assert [tool.name for tool in await hub.list_tools()] == ["beta:echo"]

    run(lists())
