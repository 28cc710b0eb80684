"""Drives the official Python client: reads what to do as lines of JSON, answers each with a line.

A connection is entered and left by one task of its own, as the client asks; what is done on it runs side by side.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import BaseModel

Do = Callable[[Client, dict[str, Any]], Awaitable[BaseModel]]
VERBS: dict[str, Do] = {
    "listTools": lambda client, _: client.list_tools(),
    "listResources": lambda client, _: client.list_resources(),
    "listResourceTemplates": lambda client, _: client.list_resource_templates(),
    "listPrompts": lambda client, _: client.list_prompts(),
    "callTool": lambda client, given: client.call_tool(given["name"], given["arguments"]),
    "readResource": lambda client, given: client.read_resource(given["uri"]),
    "getPrompt": lambda client, given: client.get_prompt(given["name"], given["arguments"]),
}


class Line:
    """One connection."""

    def __init__(self, door: dict[str, Any], mode: str) -> None:
        self._door = door
        self._mode = mode
        self._over = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._held = asyncio.create_task(self._hold())

    async def _hold(self) -> None:
        try:
            if "url" not in self._door:
                await self._enter(StdioServerParameters(**self._door))
                return
            async with create_mcp_http_client(headers=self._door["headers"]) as http:
                await self._enter(streamable_http_client(self._door["url"], http_client=http))
        except BaseException as error:
            if self._client.done():
                raise
            self._client.set_exception(error)

    async def _enter(self, target: Any) -> None:
        async with Client(target, mode=self._mode) as client:
            self._client.set_result(client)
            await self._over.wait()

    async def greet(self) -> dict[str, Any]:
        client = await self._client
        assert client.server_info
        return {
            "version": client.protocol_version,
            "name": client.server_info.name,
            "instructions": client.instructions,
            "capabilities": client.server_capabilities.model_dump(mode="json", by_alias=True, exclude_none=True),
        }

    async def do(self, verb: str, given: dict[str, Any]) -> dict[str, Any]:
        result = await VERBS[verb](await self._client, given)
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def close(self) -> dict[str, Any]:
        self._over.set()
        await self._held
        return {}


class Driver:
    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    async def answer(self, asked: dict[str, Any]) -> None:
        try:
            answer = {"result": await self._perform(asked)}
        except BaseException as error:  # noqa: BLE001 - whatever the client raises is what the test wants to see
            answer = {"error": _told(error)}
        print(json.dumps({"id": asked["id"], **answer}), flush=True)

    async def _perform(self, asked: dict[str, Any]) -> dict[str, Any]:
        name = asked["line"]
        if asked["verb"] == "connect":
            self._lines[name] = Line(asked["given"], asked["mode"])
            return await self._lines[name].greet()
        if asked["verb"] == "close":
            return await self._lines.pop(name).close()
        return await self._lines[name].do(asked["verb"], asked["given"])


def _told(error: BaseException) -> dict[str, Any]:
    inner: Any = error
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    if isinstance(inner, MCPError):
        return {"code": inner.error.code, "message": inner.error.message, "data": inner.error.data}
    return {"code": None, "message": f"{type(inner).__name__}: {inner}", "data": None}


async def main() -> None:
    driver = Driver()
    async with asyncio.TaskGroup() as tasks:
        while line := await asyncio.to_thread(sys.stdin.readline):
            tasks.create_task(driver.answer(json.loads(line)))


if __name__ == "__main__":
    asyncio.run(main())
