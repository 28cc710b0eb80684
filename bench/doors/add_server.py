"""The smallest lowlevel server of the official Python SDK: one tool, `add`; on stdio, or over HTTP on a port."""

from __future__ import annotations

import sys
from typing import Any, Literal

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

_NUMBER = {"type": "number"}
_SCHEMA = {"type": "object", "properties": {"a": _NUMBER, "b": _NUMBER}, "required": ["a", "b"]}


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="add", input_schema=_SCHEMA)])


async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    given = params.arguments or {}
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(given["a"] + given["b"]))])


def make_server() -> Server[Any]:
    return Server("add", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def on_stdio() -> None:
    server = make_server()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def over_http(port: int, loop: Literal["asyncio", "uvloop"]) -> None:
    """JSON answers; on what the SDK brings with it, or on the event loop and the parser that Kumihimo uses."""
    import uvicorn

    application = make_server().streamable_http_app(json_response=True)
    parser = "httptools" if loop == "uvloop" else "h11"
    uvicorn.run(application, host="127.0.0.1", port=port, loop=loop, http=parser, log_config=None, access_log=False)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        over_http(int(sys.argv[1]), "uvloop" if "uvloop" in sys.argv else "asyncio")
    else:
        anyio.run(on_stdio)
