"""The client that the conformance suite judges: `python tests/conformance/client.py URL`.

Which scenario it is, and what it needs to know for it, the suite says in the environment.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import client_auth

from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.handshake import Introduction
from kumihimo.wire.client.session import Session
from kumihimo.wire.client.targets import Url
from kumihimo.wire.implementation import Implementation

CAPABILITIES = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": False}}
US = Introduction(Implementation(name="kumihimo-conformance", version="1.0.0"), CAPABILITIES)
EXAMPLES = {"string": "text", "integer": 7, "number": 1.5, "boolean": True, "array": [], "object": {}}


async def answer(method: str, params: Any) -> dict[str, Any]:
    """What a person who agrees to everything would say: every field as the server suggests it."""
    if method == "roots/list":
        return {"roots": []}
    if method == "sampling/createMessage":
        return {"role": "assistant", "model": "none", "content": {"type": "text", "text": "Hello"}}
    fields = params.get("requestedSchema", {}).get("properties", {})
    return {"action": "accept", "content": {name: suggested(field) for name, field in fields.items()}}


def suggested(schema: dict[str, Any]) -> Any:
    return schema.get("default", next(iter(schema.get("enum", ())), EXAMPLES.get(schema.get("type", ""))))


def arguments(tool: dict[str, Any]) -> dict[str, Any]:
    """Something for each argument that the tool needs."""
    schema = tool["inputSchema"]
    return {name: suggested(schema["properties"][name]) for name in schema.get("required", ())}


async def use_everything(session: Session, context: dict[str, Any]) -> None:
    """All that is listed is called, read and got, at the same time."""
    capabilities = session.greeting.capabilities
    tools = await session.list_tools()
    uses: list[Awaitable[Any]] = [session.call_tool(tool["name"], arguments(tool)) for tool in tools]
    if "resources" in capabilities:
        uses += [session.read_resource(resource["uri"]) for resource in await session.list_resources()]
    if "prompts" in capabilities:
        uses += [session.get_prompt(prompt["name"]) for prompt in await session.list_prompts()]
    await asyncio.gather(*uses)


async def call_what_is_wanted(session: Session, context: dict[str, Any]) -> None:
    await session.list_tools()
    for call in context["toolCalls"]:
        await session.call_tool(call["name"], call["arguments"])


async def only_list(session: Session, context: dict[str, Any]) -> None:
    await session.list_tools()


async def give_a_schema_back(session: Session, context: dict[str, Any]) -> None:
    schemas = {tool["name"]: tool["inputSchema"] for tool in await session.list_tools()}
    await session.call_tool("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


async def listen_beside(session: Session, context: dict[str, Any]) -> None:
    """This server asks on the stream that belongs to no call."""
    ready = asyncio.Event()
    listening = asyncio.create_task(session.listen(on_ready=ready.set))
    await ready.wait()
    await use_everything(session, context)
    listening.cancel()


SCENARIOS: dict[str, Callable[[Session, dict[str, Any]], Awaitable[None]]] = {
    "http-custom-headers": call_what_is_wanted,
    "json-schema-ref-no-deref": only_list,
    "json-schema-2020-12-preservation": give_a_schema_back,
    "elicitation-sep1034-client-defaults": listen_beside,
}


async def main(url: str) -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if scenario.startswith("auth/"):
        await client_auth.run(url, scenario, context, US)
        return
    async with await connect(Url(url=url), US, on_request=answer) as session:
        await SCENARIOS.get(scenario, use_everything)(session, context)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
