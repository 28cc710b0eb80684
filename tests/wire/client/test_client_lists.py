"""Lists and resources with the time that they are good for, and tools that can't be called as they are described."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from client_kit import US, Peer, discovers, greets, http, result, run
from everywhere import session_with

from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.freshness import Freshness, freshness_of
from kumihimo.wire.client.listing import Kind

KINDS: dict[Kind, tuple[str, str]] = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
}


def paged(pages: list[dict[str, Any]]) -> Peer:
    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        at = int(request["params"].get("cursor", 0))
        key = dict(KINDS.values())[request["method"]]
        further = {"nextCursor": str(at + 1)} if at + 1 < len(pages) else {}
        writer.write(http(result(request, **{key: [{"name": f"n{at}"}]}, **pages[at], **further)))

    return discovers(answer)


PAGES: dict[str, tuple[list[dict[str, Any]], Freshness]] = {
    "nothing said": ([{}, {}], Freshness(None, "private")),
    "one": ([{"ttlMs": 5000, "cacheScope": "public"}], Freshness(5.0, "public")),
    "the shortest": (
        [{"ttlMs": 9000, "cacheScope": "public"}, {"ttlMs": 1500.5, "cacheScope": "public"}], Freshness(1.5005, "public"),
    ),
    "one says nothing": ([{"ttlMs": 9000, "cacheScope": "public"}, {}], Freshness(9.0, "private")),
    "one is private": (
        [{"ttlMs": 1, "cacheScope": "private"}, {"ttlMs": 2, "cacheScope": "public"}], Freshness(0.001, "private"),
    ),
    "at once old": ([{"ttlMs": 0, "cacheScope": "public"}, {"ttlMs": 5}], Freshness(0.0, "private")),
}  # fmt: skip


@pytest.mark.parametrize("case", PAGES)
def test_a_list_is_good_for_the_shortest_time_of_its_pages(case: str) -> None:
    pages, expected = PAGES[case]

    async def test() -> None:
        async with paged(pages).listening() as url, await connect(url, US) as session:
            for kind in KINDS:
                found = await session.listing(kind)
                assert [entry["name"] for entry in found.entries] == [f"n{at}" for at in range(len(pages))]
                assert found.freshness == expected

    run(test())


@pytest.mark.parametrize("told", [None, True, "60000", [], {"a": 1}])
def test_a_time_that_is_none_says_nothing(told: object) -> None:
    assert freshness_of({"ttlMs": told, "cacheScope": told}) == Freshness(None, "private")


def test_a_time_is_neither_below_nothing_nor_for_ever() -> None:
    assert freshness_of({"ttlMs": -5}).seconds == 0.0
    assert freshness_of({"ttlMs": 1e300}).seconds == freshness_of({"ttlMs": 10**18}).seconds == 24 * 60 * 60


def test_a_resource_tells_how_long_it_is_good() -> None:
    async def test() -> None:
        async with session_with("http", "auto") as session:
            numbered = await session.resource("note://7/text")
            assert (numbered.entries[0]["text"], numbered.freshness) == ("number 7", Freshness(60.0, "public"))
            plain = await session.resource("note://one")
            assert plain.entries == await session.read_resource("note://one")
            assert plain.freshness.scope == "private"

    run(test())


def header(**argument: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A", **argument}}}


GOOD = {
    "plain": {"type": "object"},
    "mirrored": header(),
    "nested": {"type": "object", "properties": {"outer": header()}},
    "only called so": {"type": "object", "properties": {"x-mcp-header": {"type": "string"}}},
    "an example": header(examples=[{"x-mcp-header": "B"}], default={"x-mcp-header": "B"}),
}
BAD = {
    "empty": header(**{"x-mcp-header": ""}),
    "with a space": header(**{"x-mcp-header": "A B"}),
    "with a line end": header(**{"x-mcp-header": "A\r\nB"}),
    "no text": header(**{"x-mcp-header": 7}),
    "a number": header(type="number"),
    "an object": header(type="object"),
    "twice": {"type": "object", "properties": {"a": header()["properties"]["a"], "b": {"type": "string", "x-mcp-header": "a"}}},
    "in a list": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}},
    "in a choice": {"type": "object", "oneOf": [header()]},
    "behind a reference": {"type": "object", "$defs": {"one": header()}},
    "at the root": {"type": "object", "x-mcp-header": "A"},
}  # fmt: skip


def test_a_tool_whose_headers_can_not_be_written_is_left_out_and_the_others_stay() -> None:
    tools = [{"name": name, "inputSchema": schema} for name, schema in {**GOOD, **BAD}.items()]

    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(http(result(request, tools=tools)))

    async def test() -> None:
        async with discovers(answer).listening() as url, await connect(url, US) as session:
            assert [tool["name"] for tool in await session.list_tools()] == list(GOOD)
        # Before the stateless revision there were no such headers, and nothing to be wrong with them.
        async with greets(answer).listening() as url, await connect(url, US) as session:
            assert len(await session.list_tools()) == len(tools)

    run(test())


def test_headers_say_what_arguments_say_and_nothing_where_there_is_nothing_to_say() -> None:
    kinds = {"text": "string", "count": "integer", "flag": "boolean"}
    properties = {name: {"type": kind, "x-mcp-header": name} for name, kind in kinds.items()}
    tool = {"name": "ask", "inputSchema": {"type": "object", "properties": properties}}

    async def answer(peer: Peer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(http(result(request, tools=[tool], content=[])))

    async def test() -> None:
        peer = discovers(answer)
        async with peer.listening() as url, await connect(url, US) as session:
            await session.list_tools()
            for arguments, expected in (
                ({"text": "us-west1", "count": 42, "flag": False}, ["text: us-west1", "count: 42", "flag: false"]),
                ({"text": None, "count": -7.0}, ["count: -7"]),
                ({"text": {"no": "text"}, "flag": True}, ["flag: true"]),
                ({"text": "line1\nline2"}, ["text: =?base64?bGluZTEKbGluZTI=?="]),
                ({}, []),
            ):
                await session.call_tool("ask", arguments)
                lines = [line for line in peer.heads[-1].split("\r\n") if line.startswith("Mcp-Param-")]
                assert lines == [f"Mcp-Param-{line}" for line in expected], json.dumps(arguments)

    run(test())
