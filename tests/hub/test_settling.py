"""Whoever looks through the lists of all servers, while one of them is slow to start or to tell its list."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kumihimo import Hub
from kumihimo.hub.desk import Desk
from kumihimo.hub.errors import Code
from kumihimo.hub.settling import Settling
from kumihimo.hub.upstream import LATE
from tests.hub.hub_kit import Scripted, StillTiming, run, until

# As long as the server may take, for the lists; hardly at all, for a name.
PATIENT = Settling(None, 0.01, 0.01)
HASTY = Settling(0.01, 0.01, 0.01)
# For a name hardly at all, unless nobody has it.
DILIGENT = Settling(None, 0.01, None)


def test_a_program_that_asks_for_the_tools_gets_all_of_them_and_a_name_does_not_wait_so_long(tmp_path: Path) -> None:
    go = tmp_path / "go"
    slow = Scripted(tmp_path, "slow", {"name": "work"}, greeting=str(go))
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def together() -> None:
        async with Hub(servers=[slow.config, alpha.config], settling=PATIENT) as hub:
            await hub.connect("alpha")
            await hub.list_tools("alpha")
            listing = asyncio.create_task(hub.list_tools())
            await until(lambda: slow.pids)
            answer = await hub.execute_tool("echo")
            assert answer.success
            missing = await hub.execute_tool("work")
            assert missing.error is not None
            assert (missing.error.code, (missing.error.details or {})["unreachable"]) == (Code.TOOL_NOT_FOUND, ["slow"])
            assert not listing.done()
            go.write_text("")
            assert [tool.name for tool in await listing] == ["slow:work", "alpha:echo"]
            assert (await hub.execute_tool("work")).success
            assert len(slow.pids) == slow.lines("list") == 1

    run(together())


def test_who_does_not_wait_is_told_which_server_is_late_and_hears_when_it_is_there(tmp_path: Path) -> None:
    go = tmp_path / "go"
    slow = Scripted(tmp_path, "slow", {"name": "work"}, greeting=str(go))
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})
    heard = asyncio.Event()

    async def late() -> None:
        async with Hub(servers=[slow.config, alpha.config], settling=HASTY) as hub:
            await hub.list_tools("alpha")
            hub.on_changed = heard.set
            desk = Desk(hub)
            assert [tool.name for tool in await desk.search(None, None, 50)] == ["alpha:echo"]
            states = {it["name"]: it for it in desk.servers()}
            assert (states["slow"]["state"], states["slow"]["error"]) == ("connecting", f"slow: {LATE}")
            assert states["alpha"]["error"] is None
            assert not heard.is_set()
            go.write_text("")
            await heard.wait()
            assert [tool.name for tool in await desk.search(None, None, 50)] == ["slow:work", "alpha:echo"]
            assert [it["error"] for it in desk.servers()] == [None, None]
            assert slow.lines("list") == 1

    run(late())


def test_a_name_that_nobody_has_as_yet_is_waited_for_where_nobody_asks_again(tmp_path: Path) -> None:
    go = tmp_path / "go"
    slow = Scripted(tmp_path, "slow", {"name": "work"}, prompts=[{"name": "greet"}], greeting=str(go))
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def named() -> None:
        async with Hub(servers=[slow.config, alpha.config], settling=DILIGENT) as hub:
            hub.register_tool({"name": "mine", "execute": lambda _: "here"})
            await hub.connect("alpha")
            await hub.list_tools("alpha")
            for known in ("echo", "mine"):
                assert (await hub.execute_tool(known)).success
            working = asyncio.create_task(hub.execute_tool("work"))
            greeting = asyncio.create_task(hub.execute_prompt("greet", {"who": "you"}))
            # It was waited for as long as for a name that somebody has.
            await until(lambda: hub.servers()[0]["error"])
            assert {working.done(), greeting.done()} == {False}
            go.write_text("")
            assert (await working).success
            assert "good day" in await greeting
            assert len(slow.pids) == 1

    run(named())


@pytest.mark.parametrize("kind", ["prompts", "resources"])
def test_so_are_prompts_and_resources_named_while_a_server_is_late(tmp_path: Path, kind: str) -> None:
    slow = Scripted(tmp_path, "slow", greeting="never")
    resources = [{"uri": "page://1", "name": "one"}]
    alpha = Scripted(tmp_path, "alpha", prompts=[{"name": "greet"}], resources=resources)

    async def named() -> None:
        async with Hub(servers=[slow.config, alpha.config], settling=PATIENT) as hub:
            await hub.connect("alpha")
            listed = hub.list_prompts if kind == "prompts" else hub.list_resources
            await listed("alpha")
            if kind == "prompts":
                assert "good day" in await hub.execute_prompt("greet", {"who": "you"})
            else:
                assert await hub.read_resource("page://1")

    run(named())


def test_a_server_that_never_tells_its_list_holds_names_up_once_in_a_while(tmp_path: Path) -> None:
    timing = StillTiming()
    silent = Scripted(tmp_path, "silent", lists="never")
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def once() -> None:
        # A name waits until the server was asked, and no longer than that.
        async with Hub(servers=[silent.config, alpha.config], timing=timing, settling=Settling(None, 0.5, 0.5)) as hub:
            await hub.connect("silent")
            await hub.list_tools("alpha")
            assert (await hub.execute_tool("echo")).success
            assert (hub.servers()[0]["state"], hub.servers()[0]["error"]) == ("connected", f"silent: {LATE}")
            await until(lambda: silent.lines("list"))
            assert (await hub.execute_tool("echo")).success
            assert silent.lines("list") == 1

    run(once())


def test_a_hub_that_ends_asks_no_more(tmp_path: Path) -> None:
    slow = Scripted(tmp_path, "slow", greeting="never")

    async def ends() -> None:
        async with Hub(servers=[slow.config], settling=HASTY) as hub:
            assert await hub.list_tools() == []
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert left == []

    run(ends())
