"""Servers that are slow, restless, many, or say what is not so: what they cost whoever calls them, and nobody else."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

from kumihimo import Hub
from kumihimo.hub.errors import Code
from kumihimo.hub.results import Answer
from tests.hub.hub_kit import IDEMPOTENT, NONE, READ, Scripted, run, until

QUICK = {"maxRetries": 2, "initialDelay": 1, "maxDelay": 4, "backoffMultiplier": 2}
MANY = 50


def code(answer: Answer) -> Code | None:
    return answer.error.code if answer.error else None


def test_fifty_servers_connect_together_while_others_never_greet_or_can_not_be_started(tmp_path: Path) -> None:
    """None greets before all have been started, and the bad ones are asked first: any order or turn would never end."""
    go = tmp_path / "go"
    dead = Scripted(tmp_path, "dead", greeting="never")
    good = [Scripted(tmp_path, f"s{n}", {"name": "echo"}, greeting=str(go)) for n in range(MANY)]

    async def together() -> None:
        servers = [dead.config, {"name": "ghost", "command": "/nobody"}, *(server.config for server in good)]
        async with Hub(servers=servers) as hub:
            bad = [asyncio.create_task(hub.execute_tool(f"{name}:echo")) for name in ("dead", "ghost")]
            await until(lambda: dead.pids)
            calls = [asyncio.create_task(hub.execute_tool(f"{server.name}:echo")) for server in good]
            await until(lambda: all(server.pids for server in good))
            assert not any(call.done() for call in calls)
            go.write_text("")
            assert all(answer.success for answer in await asyncio.gather(*calls))
            assert not bad[0].done()
            for task in bad:
                task.cancel()

    run(together())


def test_a_slow_call_holds_up_no_other_call_to_its_server(tmp_path: Path) -> None:
    go = tmp_path / "go"
    alpha = Scripted(tmp_path, "alpha", {"name": "slow", "does": "wait", "file": str(go)}, {"name": "echo"})

    async def beside() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            slow = asyncio.create_task(hub.execute_tool("alpha:slow"))
            await until(lambda: alpha.calls("slow"))
            for _ in range(3):
                assert (await hub.execute_tool("alpha:echo")).success
            assert not slow.done()
            go.write_text("")
            assert (await slow).data[0]["text"] == "waited"

    run(beside())


def test_a_server_that_dies_in_the_middle_of_many_calls_gets_only_those_again_that_do_no_harm(tmp_path: Path) -> None:
    go = tmp_path / "go"
    waits = {"does": "wait", "file": str(go)}
    tools = ({"name": "write", **waits}, {"name": "read", **waits, **READ}, {"name": "put", **waits, **IDEMPOTENT})
    alpha = Scripted(tmp_path, "alpha", *tools)
    names = ("write", "read", "put") * 4

    async def die() -> None:
        async with Hub(servers=[alpha.config], options={"retryPolicy": QUICK}) as hub:
            calls = [asyncio.create_task(hub.execute_tool(f"alpha:{name}")) for name in names]
            await until(lambda: sum(alpha.calls(name) for name in ("write", "read", "put")) == len(names))
            os.kill(alpha.pids[0], signal.SIGKILL)
            await until(lambda: alpha.calls("read") + alpha.calls("put") == 16)
            go.write_text("")
            answers = await asyncio.gather(*calls)
            for name, answer in zip(names, answers, strict=True):
                assert code(answer) is (Code.DELIVERY_UNKNOWN if name == "write" else None)
        assert (alpha.calls("write"), len(alpha.pids)) == (4, 2)

    run(die())


def test_a_server_that_tells_changes_without_end_is_asked_for_its_list_no_more_than_it_is_called(
    tmp_path: Path,
) -> None:
    flood = Scripted(tmp_path, "flood", {"name": "flood", "does": "flood", "size": 20_000}, {"name": "echo"})
    beside = Scripted(tmp_path, "beside", {"name": "echo"})

    async def flooded() -> None:
        async with Hub(servers=[flood.config, beside.config]) as hub:
            for _ in range(3):
                answers = await hub.execute_parallel([{"tool": "flood:flood"}, {"tool": "beside:echo"}])
                assert [answer.success for answer in answers] == [True, True]
                assert (await hub.execute_tool("flood:echo")).success
        assert flood.lines("list") <= 6
        assert beside.lines("list") == 1

    run(flooded())


def test_of_tools_with_one_name_in_one_server_the_first_counts_and_what_has_no_name_is_none(tmp_path: Path) -> None:
    first = {"name": "twin", "description": "first", "does": "structured"}
    odd: list[dict[str, Any]] = [{"name": ""}, {"name": 5}, {"description": "nameless"}, {"name": ["a"]}]
    alpha = Scripted(tmp_path, "alpha", first, {"name": "twin", "description": "second"}, *odd, {"name": "Twin"})

    async def named() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            told = [(tool.name, tool.description) for tool in await hub.list_tools()]
            assert told == [("alpha:twin", "first"), ("alpha:Twin", "")]
            assert (await hub.execute_tool("twin")).data == {"n": 1}

    run(named())


def test_servers_that_take_the_names_of_others_are_still_told_apart(tmp_path: Path) -> None:
    """One has a tool that is called like a tool of the other with its server, one like our own tools."""
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})
    thief = Scripted(tmp_path, "thief", {"name": "alpha:echo"}, {"name": "local:mine"}, {"name": "mine"})

    async def apart() -> None:
        async with Hub(servers=[thief.config, alpha.config]) as hub:
            hub.register_tool({"name": "mine", "execute": lambda _: "ours"})
            assert (await hub.execute_tool("alpha:echo")).metadata.server == "alpha"
            assert (await hub.execute_tool("local:mine")).data == "ours"
            assert code(await hub.execute_tool("mine")) is Code.AMBIGUOUS_TOOL
            stolen = await hub.execute_tool("thief:alpha:echo")
            assert json.loads(stolen.data[0]["text"])["tool"] == "alpha:echo"
        assert (alpha.calls("echo"), thief.calls("alpha:echo"), thief.calls("mine")) == (1, 1, 0)

    run(apart())


def test_a_tool_that_only_says_that_it_reads_is_asked_each_time_and_sent_no_more_often_than_the_policy_says(
    tmp_path: Path,
) -> None:
    writes = {"name": "writes", "does": "count", **READ}
    dies = {"name": "dies", "does": "crash", **READ}
    alpha = Scripted(tmp_path, "alpha", writes, dies, config={"retryPolicy": QUICK})

    async def lied() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            assert [(await hub.execute_tool("alpha:writes")).data[0]["text"] for _ in range(3)] == ["1", "2", "3"]
            assert code(await hub.execute_tool("alpha:dies")) is Code.MAX_RETRIES_EXCEEDED
        assert alpha.calls("dies") == QUICK["maxRetries"] + 1

    run(lied())


def test_a_tool_that_no_longer_says_that_it_only_reads_is_not_sent_again(tmp_path: Path) -> None:
    """It said so when it was called, died of it, and does not say so any more when it is to be called again."""
    turning = Scripted(tmp_path, "turning", {"name": "crash", "does": "crash", **READ}, lists="turning")

    async def turned() -> None:
        async with Hub(servers=[{**turning.config, "retryPolicy": QUICK}]) as hub:
            assert code(await hub.execute_tool("turning:crash")) is Code.DELIVERY_UNKNOWN
        assert turning.calls("crash") == 1

    run(turned())


def test_a_server_that_is_gone_is_told_at_once_to_all_who_wait_for_it(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "hang", "does": "never"}, config={"retryPolicy": NONE})

    async def gone() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            calls = [asyncio.create_task(hub.execute_tool("alpha:hang")) for _ in range(20)]
            await until(lambda: alpha.calls("hang") == 20)
            os.kill(alpha.pids[0], signal.SIGKILL)
            assert {code(answer) for answer in await asyncio.gather(*calls)} == {Code.DELIVERY_UNKNOWN}

    run(gone())
