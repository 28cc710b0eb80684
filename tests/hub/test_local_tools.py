"""Tools of the program itself: called like those of servers, and harming nobody when they break."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.hub.errors import Code
from kumihimo.hub.results import Answer
from tests.hub.hub_kit import Scripted, run


def code(answer: Answer) -> Code | None:
    return answer.error.code if answer.error else None


def test_a_tool_of_the_program_itself_is_called_like_any_other() -> None:
    async def slow(params: Any) -> Any:
        return {"success": params["fine"], "data": "slow", "error": "not fine"}

    def plain(params: Any) -> str:
        return f"got {params['x']}"

    async def local() -> None:
        async with Hub() as hub:
            hub.register_tool(
                {"name": "plain", "version": "1.0.0", "input_schema": {"required": ["x"]}, "execute": plain}
            )
            hub.register_tool({"name": "slow", "execute": slow}, can_execute=lambda params: "fine" in params)
            assert (await hub.execute_tool("plain", {"x": 1})).data == "got 1"
            assert (await hub.execute_tool("local:plain", {"x": 2})).data == "got 2"
            assert (await hub.execute_tool("slow", {"fine": True})).data == "slow"
            assert code(await hub.execute_tool("slow", {"fine": False})) is Code.EXECUTION_FAILED
            assert code(await hub.execute_tool("slow", {})) is Code.CANNOT_EXECUTE
            assert code(await hub.execute_tool("plain", {})) is Code.INVALID_PARAMS
            tool = await hub.get_tool("plain")
            assert tool is not None
            assert (tool.name, tool.version) == ("local:plain", "1.0.0")
            with pytest.raises(ValueError, match="has a name"):
                hub.register_tool({"name": "nothing to call"})

    run(local())


def test_a_tool_of_the_program_that_cancels_itself_has_failed_and_cancels_nobody() -> None:
    async def cancelled(params: Any) -> None:
        raise asyncio.CancelledError

    async def called() -> None:
        async with Hub() as hub:
            hub.register_tool({"name": "cancelled", "execute": cancelled})
            hub.register_tool({"name": "gated", "execute": lambda _: "done"}, can_execute=cancelled)
            answer = await hub.execute_tool("cancelled")
            assert code(answer) is Code.EXECUTION_FAILED
            assert answer.error is not None
            assert "cancelled" in answer.error.message
            assert answer.metadata.server == "local"
            assert code(await hub.execute_tool("gated")) is Code.CANNOT_EXECUTE
            assert not await hub.can_execute("gated")

    run(called())


def test_who_waits_for_a_tool_of_the_program_can_be_cancelled() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless(params: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def called() -> None:
        async with Hub() as hub:
            hub.register_tool({"name": "endless", "execute": endless})
            waiting = asyncio.create_task(hub.execute_tool("endless"))
            await begun.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await ended.wait()

    run(called())


def test_what_a_tool_of_the_program_brings_along_to_be_asked_is_asked_in_either_spelling() -> None:
    class Tool:
        name = "drop"

        def execute(self, params: Any) -> str:
            return f"dropped {params['x']}"

        def canExecute(self, params: Any) -> bool:  # noqa: N802 - as the design has it
            return params["x"] > 0

    async def called() -> None:
        async with Hub() as hub:
            hub.register_tool(Tool())
            assert code(await hub.execute_tool("drop", {"x": 0})) is Code.CANNOT_EXECUTE
            assert (await hub.execute_tool("drop", {"x": 1})).data == "dropped 1"

    run(called())


def test_a_server_that_is_called_as_the_program_itself_hides_none_of_its_tools(tmp_path: Path) -> None:
    server = Scripted(tmp_path, "local", {"name": "mine"}, {"name": "theirs"})

    async def called() -> None:
        async with Hub(servers=[server.config]) as hub:
            hub.register_tool({"name": "mine", "execute": lambda _: "the program's"})
            for name in ("mine", "local:mine"):
                assert (await hub.execute_tool(name)).data == "the program's"
            assert (await hub.execute_tool("local:theirs")).success
            assert (await hub.execute_tool("theirs")).success
            assert (server.calls("mine"), server.calls("theirs")) == (0, 2)

    run(called())


def test_a_tool_of_the_program_has_the_time_of_the_options_where_it_was_given_none() -> None:
    async def called() -> None:
        async with Hub(options={"timeout": 30}) as hub:
            hub.register_tool({"name": "long", "execute": lambda _: asyncio.sleep(1000)})
            assert code(await hub.execute_tool("long")) is Code.TIMEOUT

    run(called())
