"""The official Python client against our server: both eras, on stdio and over HTTP."""

import asyncio
import contextlib
import sys
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from wire_kit import BOUND

mcp = pytest.importorskip("mcp", reason="the official client `mcp` is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from mcp import Client, StdioServerParameters, types  # noqa: E402
from test_wire_http_socket import served  # noqa: E402

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28"}


@contextlib.asynccontextmanager
async def target(transport: str) -> AsyncIterator[Any]:
    if transport == "stdio":
        script = Path(__file__).with_name("wire_stdio_server.py")
        yield StdioServerParameters(command=sys.executable, args=[str(script)])
    else:
        async with served() as url:
            yield url


async def elicited(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Aki"})


async def sampled(context: Any, params: Any) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text="hi")
    return types.CreateMessageResult(role="assistant", content=content, model="m")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_official_client_can_use_everything(transport: str, mode: str) -> None:
    progress: list[float] = []

    async def progressed(value: float, total: float | None, message: str | None) -> None:
        progress.append(value)

    async def test() -> None:
        async with asyncio.timeout(BOUND * 3), target(transport) as server:
            options: Any = {"elicitation_callback": elicited, "sampling_callback": sampled}
            async with Client(server, mode=mode, **options) as client:
                assert client.protocol_version == MODES[mode]
                assert client.server_info.name == "kit"
                assert "add" in [tool.name for tool in (await client.list_tools()).tools]
                sums = await asyncio.gather(*(client.call_tool("add_later", {"a": n, "b": 1}) for n in range(20)))
                assert [result.structured_content["sum"] for result in sums] == list(range(1, 21))
                assert (await client.call_tool("add", {"a": "x"})).is_error
                await client.call_tool("report", {}, progress_callback=progressed)
                assert progress == [0, 1, 2]
                asked = await client.call_tool("ask_name", {})
                assert asked.content[0].text == "accept: Aki"
                assert (await client.call_tool("ask_two", {})).content[0].text == "Aki then 2"
                assert (await client.read_resource("note://one")).contents[0].text == "one"
                assert len((await client.list_resource_templates()).resource_templates) == 1
                prompt = await client.get_prompt("greet", {"who": "Aki"})
                assert prompt.messages[0].content.text == "Greet Aki."
                with pytest.raises(mcp.MCPError):
                    await client.call_tool("nothing", {})

    with warnings.catch_warnings():
        # The client warns of what newer revisions deprecate, and leaves streams to the garbage collector.
        warnings.simplefilter("ignore")
        asyncio.run(test())
