"""Calls through the hub: which tool a name means, what is checked before, and what comes back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kumihimo import Hub
from kumihimo.hub.call import Call
from kumihimo.hub.errors import Code, HubClosed, HubError
from kumihimo.hub.results import Answer
from tests.hub.hub_kit import READ, Scripted, run

ADD = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
MODERN = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"n": {"type": "integer", "minimum": 1}},
    "properties": {
        "pair": {"prefixItems": [{"$ref": "#/$defs/n"}, {"type": "string"}], "items": False},
        "x": {},
        "y": {},
    },
    "dependentRequired": {"x": ["y"]},
    "unevaluatedProperties": False,
}


def code(answer: Answer) -> Code | None:
    return answer.error.code if answer.error else None


def said(answer: Answer) -> Any:
    assert answer.success, answer
    return json.loads(answer.data[0]["text"])


def test_a_call_comes_back_with_its_data_and_how_it_came_about(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "add", "inputSchema": ADD}, {"name": "number", "does": "structured"})

    async def calls() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            answer = await hub.execute_tool("alpha:add", {"a": 2, "b": 40})
            assert said(answer) == {"tool": "add", "arguments": {"a": 2, "b": 40}}
            plain = msgspec.to_builtins(answer)
            assert plain["metadata"].pop("executionTime") > 0
            assert plain["metadata"] == {"server": "alpha", "attempts": 1, "cached": False}
            assert set(plain) == {"success", "data", "metadata"}
            assert (await hub.execute_tool("number")).data == {"n": 1}
            raw = await hub.perform(Call("number"))
            assert isinstance(raw.data, msgspec.Raw)
            assert json.loads(msgspec.json.encode(raw))["data"] == {"n": 2}

    run(calls())


def test_a_bare_name_works_where_one_server_has_it_and_lists_the_choices_where_two_have(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})
    beta = Scripted(tmp_path, "beta", {"name": "echo"}, {"name": "only"}, {"name": "a:b"})

    async def names() -> None:
        async with Hub(servers=[alpha.config, beta.config]) as hub:
            assert (await hub.execute_tool("only")).metadata.server == "beta"
            assert (await hub.execute_tool("a:b")).success
            answer = await hub.execute_tool("echo")
            assert code(answer) is Code.AMBIGUOUS_TOOL
            assert answer.error is not None
            assert answer.error.details == {"choices": ["alpha:echo", "beta:echo"]}
            assert not answer.error.retryable
            with pytest.raises(HubError, match="alpha:echo or beta:echo"):
                await hub.get_tool("echo")
        assert alpha.calls("echo") == beta.calls("echo") == 0

    run(names())


@pytest.mark.parametrize("name", ["alpha:ecko", "alhpa:echo", "nobody", "nobody:x", "", ":", "alpha:", "n" * 100_000])
def test_a_name_that_nobody_has_is_told_with_what_comes_near(tmp_path: Path, name: str) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def missing() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            answer = await hub.execute_tool(name)
            assert code(answer) is Code.TOOL_NOT_FOUND
            assert answer.error is not None
            assert ("alpha:echo" in answer.error.message) == (name in ("alpha:ecko", "alhpa:echo", "alpha:"))
            assert len(answer.error.message) < 300
            assert await hub.get_tool(name) is None
            assert not await hub.can_execute(name)

    run(missing())


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("add", {"a": "x", "b": 1}),
        ("add", {"a": 1}),
        ("add", {"a": 1, "b": 2, "c": 3}),
        ("add", {"a": 1.5, "b": 2}),
        ("add", [1, 2]),
        ("add", {"a": object(), "b": 2}),
        ("modern", {"pair": [0, "s"]}),
        ("modern", {"pair": [1, "s", 3]}),
        ("modern", {"x": 1}),
        ("modern", {"z": 1}),
    ],
)
def test_arguments_that_do_not_fit_the_schema_are_never_sent(tmp_path: Path, tool: str, params: Any) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "add", "inputSchema": ADD}, {"name": "modern", "inputSchema": MODERN})

    async def refused() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            answer = await hub.execute_tool(f"alpha:{tool}", params)
            assert code(answer) is Code.INVALID_PARAMS
            assert not await hub.can_execute(f"alpha:{tool}", params)
            assert (await hub.execute_tool("alpha:modern", {"pair": [1, "s"], "x": 1, "y": 2})).success
        assert alpha.calls("add") == 0
        assert alpha.calls("modern") == 1

    run(refused())


@pytest.mark.parametrize(
    "schema", [{"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/x"}, 5, {"$schema": "urn:unknown"}]
)
def test_a_schema_that_is_none_leaves_the_judgement_to_its_server(tmp_path: Path, schema: Any) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "odd", "inputSchema": schema})

    async def sent() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            assert (await hub.execute_tool("alpha:odd", {"any": 1})).success

    run(sent())


def test_whoever_names_a_server_in_place_of_a_tool_is_told_what_is_missing(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def missing() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            answer = await hub.execute_tool("alpha")
            assert code(answer) is Code.TOOL_NOT_FOUND
            assert answer.error is not None
            assert "alpha:TOOL" in answer.error.message

    run(missing())


def test_deny_wins_over_allow_and_what_is_denied_is_neither_listed_nor_sent(tmp_path: Path) -> None:
    lists = {"allow": ["read", "write"], "deny": ["write"]}
    alpha = Scripted(tmp_path, "alpha", {"name": "read"}, {"name": "write"}, {"name": "other"}, config=lists)
    beta = Scripted(tmp_path, "beta", {"name": "other"})

    async def denied() -> None:
        async with Hub(servers=[alpha.config, beta.config]) as hub:
            assert [tool.name for tool in await hub.list_tools()] == ["alpha:read", "beta:other"]
            for name in ("alpha:write", "alpha:other", "write"):
                assert code(await hub.execute_tool(name)) is Code.CANNOT_EXECUTE
            assert (await hub.execute_tool("alpha:read")).success
            assert (await hub.execute_tool("other")).metadata.server == "beta"
        assert alpha.calls("write") == alpha.calls("other") == 0

    run(denied())


def test_who_says_what_can_be_carried_out_is_asked_before_anything_is_sent(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def careful(params: Any) -> bool:
        return params["n"] > 0

    async def gated() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            hub.register_tool("alpha:echo", can_execute=careful)
            assert await hub.can_execute("alpha:echo", {"n": 1})
            assert not await hub.can_execute("alpha:echo", {"n": 0})
            assert code(await hub.execute_tool("alpha:echo", {"n": 0})) is Code.CANNOT_EXECUTE
            broken = await hub.execute_tool("alpha:echo", {})
            assert code(broken) is Code.CANNOT_EXECUTE
            assert broken.error is not None
            assert "KeyError" in broken.error.message
            assert alpha.calls("echo") == 0
            assert (await hub.execute_tool("echo", {"n": 2})).success

    run(gated())


def test_a_tool_tells_its_name_description_version_and_schemas(tmp_path: Path) -> None:
    alpha = Scripted(
        tmp_path,
        "alpha",
        {"name": "add", "description": "Adds.", "inputSchema": ADD, "outputSchema": {"type": "object"}},
    )

    async def told() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            tool = await hub.get_tool("alpha:add")
            assert tool is not None
            assert (tool.name, tool.description, tool.version) == ("alpha:add", "Adds.", "7")
            assert (tool.input_schema, tool.output_schema) == (ADD, {"type": "object"})

    run(told())


def test_a_batch_answers_one_result_for_each_call_in_order_whatever_happened_to_the_others(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"}, {"name": "bad", "does": "error"}, {"name": "look", **READ})

    async def batch() -> None:
        async with Hub(
            servers=[alpha.config, {"name": "ghost", "command": "/nobody", "retryPolicy": {"maxRetries": 0}}]
        ) as hub:
            calls: list[Any] = [
                {"tool": "alpha:echo", "params": {"i": 0}},
                {"tool": "alpha:nope"},
                {"tool": "alpha:bad"},
                {"tool": "ghost:echo"},
                {"params": {}},
                "no call",
                {"tool": "alpha:look", "params": {"i": 6}},
            ]
            answers = await hub.execute_parallel(calls)
            assert [code(answer) for answer in answers] == [
                None, Code.TOOL_NOT_FOUND, Code.EXECUTION_FAILED, Code.CONNECTION_FAILED,
                Code.INVALID_REQUEST, Code.INVALID_REQUEST, None,
            ]  # fmt: skip
            assert [said(answers[index])["arguments"]["i"] for index in (0, 6)] == [0, 6]
            assert await hub.execute_parallel([]) == []

    run(batch())


@pytest.mark.parametrize(("most", "given"), [(3, None), (10, 2)])
def test_no_more_calls_of_a_batch_run_at_once_than_max_parallel_says(most: int, given: int | None) -> None:
    running, highest = 0, 0

    async def work(params: Any) -> None:
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        for _ in range(20):
            await asyncio.sleep(0)
        running -= 1

    async def batch() -> None:
        async with Hub(options={"maxParallel": most}) as hub:
            hub.register_tool({"name": "work", "execute": work})
            answers = await hub.execute_parallel([{"tool": "work"}] * 12, max_parallel=given)
            assert all(answer.success for answer in answers)
        assert highest == (given or most)

    run(batch())


def test_a_call_of_a_batch_whose_execution_itself_breaks_harms_no_other() -> None:
    async def break_it(params: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def batch() -> None:
        async with Hub() as hub:
            hub.register_tool({"name": "fine", "execute": lambda _: "fine"})
            hub.register_tool({"name": "broken", "execute": break_it})
            answers = await hub.execute_parallel([{"tool": "broken"}, {"tool": "fine"}])
            assert code(answers[0]) is Code.PARALLEL_EXECUTION_FAILED
            assert answers[1].data == "fine"

    run(batch())


def test_what_is_no_name_and_no_batch_is_said_to_be_none() -> None:
    wrong: Any

    async def told() -> None:
        nonlocal wrong
        async with Hub() as hub:
            for wrong in (None, 7, b"echo", ["echo"]):
                assert not await hub.can_execute(wrong)
                with pytest.raises(HubError, match="called by its name") as no_name:
                    await hub.get_tool(wrong)
                assert no_name.value.code is Code.INVALID_REQUEST
            for wrong in (None, 7, "echo", {"tool": "echo"}):
                with pytest.raises(HubError, match="a list of") as no_batch:
                    await hub.execute_parallel(wrong)
                assert no_batch.value.code is Code.INVALID_REQUEST
            for wrong in ("x", 2.5, True, [], 0, -1):
                with pytest.raises(HubError, match="max_parallel is a whole number"):
                    await hub.execute_parallel([], max_parallel=wrong)

    run(told())


def test_prompts_and_resources_are_found_by_their_names_and_read(tmp_path: Path) -> None:
    alpha = Scripted(
        tmp_path,
        "alpha",
        prompts=[{"name": "greet"}],
        resources=[{"uri": "note://one", "name": "one"}],
        templates=[{"uriTemplate": "page://{number}", "name": "page"}],
    )
    beta = Scripted(tmp_path, "beta", {"name": "echo"})

    async def offers() -> None:
        async with Hub(servers=[alpha.config, beta.config]) as hub:
            assert await hub.list_prompts() == [{"server": "alpha", "name": "greet"}]
            assert await hub.execute_prompt("greet", {"who": "Ada"}) == "good day Ada"
            assert await hub.execute_prompt("alpha:greet", {"who": "Bo"}) == "good day Bo"
            assert (await hub.get_prompt("alpha", "greet", {"who": 1}))["messages"][0]["role"] == "user"
            assert [entry["uri"] for entry in await hub.list_resources("alpha")] == ["note://one"]
            assert await hub.read_resource("note://one") == [{"uri": "note://one", "text": "read 1"}]
            assert (await hub.read_resource("page://12"))[0]["uri"] == "page://12"
            for uri, server in (("note://none", "alpha"), ("elsewhere://x", None)):
                with pytest.raises(HubError) as raised:
                    await hub.read_resource(uri, server)
                assert raised.value.code is Code.RESOURCE_NOT_FOUND
            for wrong in (hub.execute_prompt("nobody"), hub.get_prompt("nobody", "greet"), hub.list_tools("nobody")):
                with pytest.raises(HubError) as raised:
                    await wrong
                assert raised.value.code is Code.INVALID_PARAMS

    run(offers())


def test_a_closed_hub_says_so_and_nothing_else_is_raised(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def closed() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            assert (await hub.execute_tool("echo")).success
        with pytest.raises(HubClosed):
            await hub.execute_tool("echo")
        with pytest.raises(HubClosed):
            await hub.list_tools()

    run(closed())


def test_what_is_asked_before_a_tool_by_its_bare_name_is_asked_wherever_it_is(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "add"})

    async def calls() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            hub.register_tool("add", can_execute=lambda params: "a" in params)
            assert not await hub.can_execute("alpha:add", {})
            for name in ("add", "alpha:add"):
                assert code(await hub.execute_tool(name, {})) is Code.CANNOT_EXECUTE
            assert (await hub.execute_tool("add", {"a": 1})).success
            assert alpha.calls("add") == 1

    run(calls())


def test_a_call_that_is_refused_beforehand_was_not_tried(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "add", "inputSchema": ADD}, {"name": "gated"}, {"name": "denied"})
    alpha.config["deny"] = ["denied"]

    async def calls() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            hub.register_tool("alpha:gated", can_execute=lambda _: False)
            for name, told in (
                ("alpha:add", Code.INVALID_PARAMS),
                ("alpha:none", Code.TOOL_NOT_FOUND),
                ("alpha:gated", Code.CANNOT_EXECUTE),
                ("alpha:denied", Code.CANNOT_EXECUTE),
            ):
                answer = await hub.execute_tool(name)
                assert (code(answer), answer.metadata.attempts) == (told, 0)

    run(calls())


def test_whoever_names_a_server_that_is_not_there_is_told_which_there_are(tmp_path: Path) -> None:
    alpha, beta = (Scripted(tmp_path, name, {"name": "add"}) for name in ("alpha", "beta"))

    async def calls() -> None:
        async with Hub(servers=[alpha.config, beta.config]) as hub:
            missing = (await hub.execute_tool("nosuch:xyz")).error
            assert missing is not None
            assert missing.code is Code.TOOL_NOT_FOUND
            assert "No server is called 'nosuch'. There are: alpha, beta." in missing.message
            missing = (await hub.execute_tool("xyz")).error
            assert missing is not None
            assert "`kumi hub tools`" in missing.message

    run(calls())
