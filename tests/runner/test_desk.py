"""The desk before servers that speak MCP and yet answer nonsense."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from msgspec import Raw

from kumihimo.runner.desk import Desk, Rejected, Taken, Trouble
from kumihimo.runner.pair import Pair
from kumihimo.runner.report import Report
from kumihimo.runner.where import Where
from kumihimo.wire.catalog import Catalog
from kumihimo.wire.client.targets import Url
from kumihimo.wire.http import HttpServer
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.server import Server
from kumihimo.wire.tool import Tool, ToolRefusal

HEALTHY = b'{"status":"ok","version":"7"}'
REPORT = Report(agent_id="a", project_id="p", instance_id="i", state="exited")
ASKING: dict[str, Callable[[Desk], Awaitable[Any]]] = {
    "list_active_projects_with_agents": lambda desk: desk.projects(),
    "should_start": lambda desk: desk.should_start(Pair("a", "p")),
    "wait_for_work": lambda desk: desk.wait_for_work(),
    "report_instance": lambda desk: desk.report(REPORT),
}
NONSENSE = [b"{}", b"[]", b'"text"', b"null", b'{"projects":7,"should_start":"yes","pairs":[{}],"instance_token":1}']


def desk_before(answers: dict[str, Any], test: Callable[[Desk], Awaitable[None]]) -> None:
    def handler(answer: Any) -> Callable[..., Any]:
        def handle(request: Any, arguments: Raw) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        return handle

    async def run() -> None:
        tools = [Tool(name=name, description=name, handler=handler(answer)) for name, answer in answers.items()]
        app = HttpServer(Server(Implementation(name="odd"), Catalog(tools=tools), on_fault=lambda *_: None))
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
        serving = asyncio.ensure_future(server.serve())
        async with asyncio.timeout(60):
            while not server.started:  # noqa: ASYNC110 - it can't be waited for otherwise
                await asyncio.sleep(0.005)
            port = server.servers[0].sockets[0].getsockname()[1]

            async def locate() -> Where:
                return Where(Url(url=f"http://127.0.0.1:{port}/"), "http://127.0.0.1:9/")

            desk = Desk(locate)
            try:
                await test(desk)
            finally:
                await desk.close()
                await app.close()
                server.should_exit = True
                await serving

    asyncio.run(run())


@pytest.mark.parametrize("answer", NONSENSE[1:])
@pytest.mark.parametrize("tool", ASKING)
def test_an_answer_of_another_shape_is_trouble(tool: str, answer: bytes) -> None:
    async def test(desk: Desk) -> None:
        with pytest.raises(Trouble):
            await ASKING[tool](desk)

    desk_before({"health_check": HEALTHY, tool: Raw(answer)}, test)


@pytest.mark.parametrize("tool", ASKING)
def test_a_fault_of_the_server_is_trouble_and_a_report_that_is_refused_is_done(tool: str) -> None:
    async def broken(desk: Desk) -> None:
        with pytest.raises(Trouble):
            await ASKING[tool](desk)

    desk_before({"health_check": HEALTHY, tool: KeyError("ours")}, broken)

    async def refused(desk: Desk) -> None:
        # Only a report may be refused for good; a question is asked again later.
        with pytest.raises(Rejected if tool == "report_instance" else Trouble, match="not today"):
            await ASKING[tool](desk)

    desk_before({"health_check": HEALTHY, tool: ToolRefusal('{"success":false,"error":"not today"}')}, refused)
    desk_before({"health_check": HEALTHY, tool: ToolRefusal("not today")}, refused)


@pytest.mark.parametrize("answer", [b"[]", b"{}", ToolRefusal("ill")])
def test_a_server_that_is_not_well_is_not_asked(answer: Any) -> None:
    async def test(desk: Desk) -> None:
        with pytest.raises(Trouble):
            await desk.open()

    desk_before({"health_check": answer}, test)


def test_what_a_server_has_besides_the_three_calls_is_found_out() -> None:
    async def plain(desk: Desk) -> None:
        await desk.open()
        assert (desk.waits, desk.version) == (False, "7")
        assert await desk.report(REPORT) == Taken()

    desk_before({"health_check": HEALTHY}, plain)
