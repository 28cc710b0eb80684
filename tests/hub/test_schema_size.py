"""Schemas that nobody could ever carry out, and large ones that everybody can."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.hub.schema_size import is_boundless
from tests.hub.hub_kit import Scripted, run


def doubled(word: str, times: int = 200, *, anchors: bool = False) -> dict[str, Any]:
    """Each definition refers to the next one twice."""
    definitions: dict[str, Any] = {str(times): {"type": "object"}}
    for number in range(times):
        reference = {"$ref": f"#n{number + 1}" if anchors else f"#/$defs/{number + 1}"}
        applied: Any = {"x": reference, "y": reference} if word == "dependentSchemas" else [reference, reference]
        definitions[str(number)] = {word: applied}
    if anchors:
        for number, definition in definitions.items():
            definition["$anchor"] = f"n{number}"
    return {"$defs": definitions, "$ref": "#/$defs/0"}


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf", "dependentSchemas"])
def test_a_schema_that_refers_to_itself_twice_and_twice_again_is_boundless(word: str) -> None:
    assert is_boundless(doubled(word))
    assert not is_boundless(doubled(word, 8))


def test_so_is_one_that_does_so_by_names_and_one_that_is_nested_without_end() -> None:
    assert is_boundless(doubled("allOf", anchors=True))
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"allOf": [deep]}
    assert is_boundless(deep)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        None,
        "object",
        {"$ref": "#"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.org/elsewhere"},
        {"$defs": {"tree": {"properties": {"left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}}}},
        {"anyOf": [{"properties": {f"p{number}": {"type": "string"}}} for number in range(5000)]},
        {"allOf": [{"$ref": "#/items/0"}], "items": [{"type": "object"}]},
    ],
)
def test_what_is_large_or_strange_is_not(schema: Any) -> None:
    assert not is_boundless(schema)


def test_arguments_for_it_are_judged_by_its_server_and_nobody_stands_still(tmp_path: Path) -> None:
    schema = {"type": "object", **doubled("allOf")}
    alpha = Scripted(tmp_path, "alpha", {"name": "heavy", "inputSchema": schema}, {"name": "light"})

    async def calls() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            answers = await asyncio.gather(hub.execute_tool("alpha:heavy"), hub.execute_tool("alpha:light"))
            assert [answer.success for answer in answers] == [True, True]

    run(calls())
