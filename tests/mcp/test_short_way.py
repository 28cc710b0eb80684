"""A reading tool answers the same by the short way as by the long one, and its schemas are those of its types."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kumihimo.domain.errors import ToolsetClash
from kumihimo.services.projects import Place
from kumihimo.settings import Flags, load
from kumihimo.surfaces.mcp import schemas
from kumihimo.surfaces.mcp.catalogs import Bench, MergedCall, ToolCall
from kumihimo.surfaces.mcp.door import Door
from kumihimo.toolsets.registry import NAMES, together
from kumihimo.wire.conversation import Conversation
from kumihimo.wire.framing import Frame
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.server import Server
from tests.mcp.town import Town

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Line:
    """One server of some toolsets, in this process."""

    def __init__(self, door: Door, names: list[str]) -> None:
        owner = door.owner()
        self.catalog = Bench(door, together(names), lambda _, __: owner).catalog()
        self._conversation = Conversation(Server(Implementation("test", "1"), self.catalog), None)
        self._written: list[bytes] = []
        self._conversation.attach(self._written.append, lambda *_: None)
        self._conversation.receive(_request("initialize", INITIALIZE))

    def answers(self, tool: str, arguments: dict[str, Any]) -> tuple[bytes, bytes]:
        """By the short way where there is one, and by the long way."""
        line = _request("tools/call", {"name": tool, "arguments": arguments})
        self._written.clear()
        self._conversation.receive(line)
        self._conversation.receive(Frame(line, framed=False))
        [either, long] = self._written
        return either, long

    def is_short(self, tool: str) -> bool:
        return self.catalog.tools[tool].read is not None


def _request(method: str, params: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


@pytest.fixture
def door(town: Town) -> Iterator[Door]:
    door = Door(load(Flags(db=town.database, project="alpha"), {"KUMI_HOME": str(town.home)}, Path.cwd()))
    yield door
    door.close()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("toolsets", [["manager"], ["runner", "worker", "manager"]])
def test_a_reading_tool_answers_the_same_by_either_way(town: Town, door: Door, toolsets: list[str]) -> None:
    first = town.task('say "日本語" \\ and more')
    second = town.board.tasks.update(Place(town.alpha.id), town.task().id, depends_on=[first.id]).task
    line = Line(door, toolsets)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("get_task", {"task_id": first.id}),
        ("get_task", {"task_id": second.id}),
        ("list_tasks", {"project_id": town.alpha.id}),
        ("list_projects", {}),
        ("get_project", {"project_id": "beta"}),
        ("list_agents", {}),
        ("get_agent_profile", {"agent_id": "dev"}),
        ("get_my_profile", {"agent_id": "dev"}),
        ("get_pending_handoffs", {}),
        ("list_execution_logs", {"task_id": first.id}),
    ]
    for tool, arguments in asked:
        assert line.is_short(tool), tool
        either, long = line.answers(tool, arguments)
        assert either == long
        assert b'"isError":false' in either, either
    for tool, arguments in [
        ("get_task", {"task_id": "tsk_uuuu"}),
        ("get_task", {"task_id": "1\0"}),
        ("get_task", {"task_id": 1}),
        ("get_task", {}),
        ("get_task", {"task_id": first.id, "more": 1}),
        ("get_project", {"project_id": "gamma"}),
    ]:
        either, long = line.answers(tool, arguments)
        assert either == long
        assert b'"isError":true' in either, either


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_only_what_reads_at_once_has_a_short_way(door: Door) -> None:
    for name in NAMES:
        for tool, call in Bench(door, together([name]), lambda _, __: door.owner()).calls().items():
            assert isinstance(call, ToolCall)
            operation = call.tool.bound_operation()
            short = call.definition().read is not None
            at_once = not operation.slow and operation.patience is None and not operation.uses_hub
            assert short == (operation.reads and at_once), tool
    door.remote = True
    assert not any(tool.read for tool in Line(door, ["manager"]).catalog.tools.values())


def _nowhere() -> Door:
    return Door(load(Flags(db=":none:"), {"KUMI_HOME": "/nowhere"}, Path.cwd()))


def _pairs() -> Iterator[list[str]]:
    for pair in combinations(NAMES, 2):
        try:
            together(list(pair))
        except ToolsetClash:
            continue
        yield list(pair)


@pytest.mark.parametrize("names", [*([name] for name in NAMES), *_pairs(), ["runner", "worker", "manager"]])
def test_kept_schemas_are_those_of_the_types(names: list[str]) -> None:
    door = _nowhere()
    for tool, call in Bench(door, together(names), lambda _, __: door.owner()).calls().items():
        made = call.make_schemas()
        shown = call.definition()
        assert msgspec.json.encode(dict(shown.input_schema)) == bytes(made.arguments), tool
        assert msgspec.json.encode(dict(shown.output_schema or {})) == bytes(made.answer), tool
        assert schemas.find_kept(call.group, tool) == made, f"{tool}: make snapshots"


def test_schemas_that_are_not_kept_are_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    door = _nowhere()
    expected = [bytes(call.make_schemas().arguments) for call in _calls(door).values()]
    monkeypatch.setattr(schemas, "FOLDER", tmp_path)
    schemas.read_kept.cache_clear()
    try:
        assert [bytes(call.schemas.arguments) for call in _calls(door).values()] == expected
    finally:
        schemas.read_kept.cache_clear()


def _calls(door: Door) -> dict[str, ToolCall | MergedCall]:
    return Bench(door, together(["worker", "manager"]), lambda _, __: door.owner()).calls()
