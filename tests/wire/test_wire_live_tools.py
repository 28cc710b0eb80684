"""Tools that come and go while a server runs: asked for before they are listed, and before one is said to be unknown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from kumihimo.wire.catalog import Catalog
from kumihimo.wire.revision import LATEST_HANDSHAKE, STATELESS, Revision
from kumihimo.wire.tool import PassedResult, Tool, encode_passed_result


def tool(name: str) -> Tool:
    return Tool(name=name, handler=lambda request, arguments: f"{name}: {bytes(arguments)!r}")  # noqa: ARG005


class Others:
    """Tools of somebody else, who counts how often it is asked."""

    def __init__(self, *names: str) -> None:
        self.tools: Sequence[Tool] = [tool(name) for name in names]
        self.asked = 0

    async def __call__(self) -> Sequence[Tool]:
        self.asked += 1
        return self.tools


def names(catalog: Catalog, revision: Revision = LATEST_HANDSHAKE) -> list[str]:
    page: dict[str, Any] = json.loads(b"{%b}" % catalog.page("tools", revision, None))
    return [shown["name"] for shown in page["tools"]]


def run(coroutine: Any) -> None:
    import asyncio

    asyncio.run(coroutine)


def test_a_list_has_the_tools_of_this_moment_and_our_own_count_first() -> None:
    others = Others("theirs", "ours")
    catalog = Catalog([tool("ours")], live_tools=others)
    own = catalog.tools["ours"]
    run(catalog.refresh())
    assert sorted(names(catalog)) == sorted(names(catalog, STATELESS)) == ["ours", "theirs"]
    assert catalog.tools["ours"] is own
    before = catalog.page("tools", LATEST_HANDSHAKE, None)
    run(catalog.refresh())
    # Nothing is made anew for tools that are the same.
    assert catalog.page("tools", LATEST_HANDSHAKE, None) is before
    others.tools = [tool("other")]
    run(catalog.refresh())
    assert sorted(names(catalog)) == sorted(names(catalog, STATELESS)) == ["other", "ours"]
    assert others.asked == 3


def test_an_answer_that_is_passed_on_keeps_its_json_and_loses_what_an_old_client_does_not_know() -> None:
    passed = PassedResult(content=Raw(b'[ {"type":"text"} ]'), structured=Raw(b'{"n": 1e0}'), is_error=True)
    assert encode_passed_result(passed, structured=True) == (
        b'"content":[ {"type":"text"} ],"structuredContent":{"n": 1e0},"isError":true'
    )
    assert encode_passed_result(passed, structured=False) == b'"content":[ {"type":"text"} ],"isError":true'
    assert encode_passed_result(PassedResult(), structured=True) == b'"content":[],"isError":false'
