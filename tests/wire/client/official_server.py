"""A small server made with the official library; as a program it serves stdio."""

import asyncio

from mcp.server import MCPServer
from mcp.server.mcpserver import Context


def make() -> MCPServer:
    server = MCPServer("official")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool()
    async def slow(steps: int, context: Context) -> str:
        for step in range(steps):
            await context.report_progress(step + 1, steps)
        return "done"

    @server.tool()
    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    @server.tool()
    def refuse() -> str:
        raise ValueError("no")

    @server.resource("note://one")
    def note() -> str:
        return "one"

    @server.prompt()
    def greet(who: str) -> str:
        return f"Greet {who}."

    return server


if __name__ == "__main__":
    make().run("stdio")
