"""The methods of the Serena facade: what a Serena of today and an older one get to hear, and what comes back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.hub.configuration import Options, ServerConfig, server_of
from kumihimo.hub.errors import Code
from kumihimo.hub.results import Answer
from kumihimo.hub.serena import Serena
from kumihimo.hub.serena_tools import WAYS
from tests.hub.hub_kit import NONE, Scripted, run


def tool(name: str, *properties: str, required: int = 1, **more: Any) -> dict[str, Any]:
    """The first so many of its arguments are required."""
    schema = {
        "type": "object",
        "properties": {key: {} for key in properties},
        "required": properties[:required],
        "additionalProperties": False,
    }
    return {"name": name, "inputSchema": schema, **more}


_SYMBOL = ("name_path", "relative_path", "body")
TODAY = (
    tool("find_symbol", "name_path_pattern", "depth", "relative_path", "include_body", "include_kinds"),
    tool("get_symbols_overview", "relative_path", "depth"),
    tool("replace_symbol_body", *_SYMBOL, required=3),
    tool("insert_before_symbol", *_SYMBOL, required=3),
    tool("insert_after_symbol", *_SYMBOL, required=3),
    tool("search_for_pattern", "substring_pattern", "relative_path"),
    tool("replace_content", "relative_path", "needle", "repl", "mode", "allow_multiple_occurrences", required=4),
    tool("find_file", "file_mask", "relative_path", required=2),
    tool("list_dir", "relative_path", "recursive", required=2),
    tool("read_memory", "memory_name"),
    tool("write_memory", "memory_name", "content", required=2),
    tool("find_referencing_symbols", "name_path", "relative_path", required=2),
)
# As it was before its names changed.
OLDER = (
    tool("find_symbol", "name_path", "relative_path", "include_body", "include_kinds"),
    tool("replace_regex", "relative_path", "regex", "repl", "allow_multiple_occurrences", required=3),
    tool("read_memory", "memory_file_name"),
    tool("think_about_collected_information", required=0),
    tool("think_about_whether_you_are_done", required=0),
)
PLACE = {"path": "a.py", "symbol_name": "A/b"}
THEIRS = {"relative_path": "a.py", "name_path": "A/b"}
CALLS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("find_symbol", {"name": "A"}, "find_symbol", {"name_path_pattern": "A", "include_body": False}),
    (
        "find_symbol",
        {"name": "A", "type": "interface", "include_body": True, "path": "x"},
        "find_symbol",
        {"name_path_pattern": "A", "include_kinds": [11], "include_body": True, "relative_path": "x"},
    ),
    ("get_symbols_overview", {"path": "a.py"}, "get_symbols_overview", {"relative_path": "a.py"}),
    ("replace_symbol_body", {**PLACE, "new_body": "new"}, "replace_symbol_body", {**THEIRS, "body": "new"}),
    ("insert_before_symbol", {**PLACE, "body": "new"}, "insert_before_symbol", {**THEIRS, "body": "new"}),
    ("insert_after_symbol", {**PLACE, "body": "new"}, "insert_after_symbol", {**THEIRS, "body": "new"}),
    ("search_for_pattern", {"pattern": "a.b"}, "search_for_pattern", {"substring_pattern": "a.b"}),
    (
        "search_for_pattern",
        {"pattern": re.compile("a.b", re.IGNORECASE | re.DOTALL), "path": "x"},
        "search_for_pattern",
        {"substring_pattern": "(?is)a.b", "relative_path": "x"},
    ),
    (
        "replace_regex",
        {"path": "a.py", "pattern": "(a)", "replacement": r"\1\1 \\1 $1"},
        "replace_content",
        {"relative_path": "a.py", "needle": "(a)", "repl": r"$!1$!1 \1 $1", "mode": "regex"}
        | {"allow_multiple_occurrences": False},
    ),
    ("find_file", {"pattern": "*.py"}, "find_file", {"file_mask": "*.py", "relative_path": "."}),
    ("list_dir", {"path": "x"}, "list_dir", {"relative_path": "x", "recursive": False}),
    ("read_memory", {"key": "k"}, "read_memory", {"memory_name": "k"}),
    ("write_memory", {"key": "k", "value": "text"}, "write_memory", {"memory_name": "k", "content": "text"}),
    ("write_memory", {"key": "k", "value": {"é": [1]}}, "write_memory", {"memory_name": "k", "content": '{"é": [1]}'}),
    ("find_referencing_symbols", {"symbol": "A"}, "find_referencing_symbols", {"name_path": "A", "relative_path": ""}),
]
OLDER_CALLS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("find_symbol", {"name": "A"}, "find_symbol", {"name_path": "A", "include_body": False}),
    (
        "replace_regex",
        {"path": "a.py", "pattern": "(a)", "replacement": r"\1", "allow_multiple_occurrences": True},
        "replace_regex",
        {"relative_path": "a.py", "regex": "(a)", "repl": r"\1", "allow_multiple_occurrences": True},
    ),
    ("read_memory", {"key": "k"}, "read_memory", {"memory_file_name": "k"}),
    ("think_about_collected_information", {"context": {}}, "think_about_collected_information", {}),
    ("think_about_whether_you_are_done", {"task": "t"}, "think_about_whether_you_are_done", {}),
]


def code(answer: Answer) -> Code | None:
    return answer.error.code if answer.error else None


def of(hub: Hub) -> Serena:
    found = hub.serena
    assert found is not None
    return found


@pytest.mark.parametrize(("tools", "calls"), [(TODAY, CALLS), (OLDER, OLDER_CALLS)], ids=["today", "older"])
def test_each_method_is_the_tool_that_the_serena_which_is_there_has_for_it(
    tmp_path: Path, tools: tuple[dict[str, Any], ...], calls: list[tuple[str, dict[str, Any], str, dict[str, Any]]]
) -> None:
    serena = Scripted(tmp_path, "serena", *tools)

    async def ask() -> None:
        async with Hub(servers=[serena.config]) as hub:
            for method, given, tool, arguments in calls:
                answer = await getattr(of(hub), method)(**given)
                assert answer.success, answer.error
                assert answer.data == {"tool": tool, "arguments": arguments}
                assert answer.metadata.server == "serena"

    run(ask())


def test_every_method_of_the_design_is_there() -> None:
    public = {name for name in vars(Serena) if not name.startswith("_")}
    assert public == set(WAYS)
    assert {method for method, *_ in (*CALLS, *OLDER_CALLS)} == set(WAYS)


def test_a_method_that_it_has_nothing_for_is_named_and_so_is_what_would_help(tmp_path: Path) -> None:
    serena = Scripted(tmp_path, "serena", *TODAY)
    repl = Scripted(tmp_path, "other", tool("serena_repl", "code"), server="Serena")

    async def missing() -> None:
        async with Hub(servers=[serena.config]) as hub:
            for name in ("think_about_collected_information", "think_about_whether_you_are_done"):
                answer = await getattr(of(hub), name)()
                assert code(answer) is Code.TOOL_NOT_FOUND
                assert answer.error is not None
                assert name in answer.error.message
        async with Hub(servers=[repl.config]) as hub:
            await hub.connect("other")
            answer = await of(hub).find_symbol(name="A")
            assert code(answer) is Code.TOOL_NOT_FOUND
            assert answer.error is not None
            assert "--agent-interface tools" in answer.error.message

    run(missing())


def test_a_wrong_argument_and_a_denied_tool_are_answers_and_nothing_is_sent(tmp_path: Path) -> None:
    serena = Scripted(tmp_path, "serena", *TODAY, config={"deny": ["list_dir"]})

    async def refused() -> None:
        async with Hub(servers=[serena.config]) as hub:
            odd: Any = "colour"
            assert code(await of(hub).find_symbol(name="A", type=odd)) is Code.INVALID_PARAMS
            assert code(await of(hub).find_symbol()) is Code.INVALID_PARAMS
            assert code(await of(hub).write_memory(key="k", value=object())) is Code.INVALID_PARAMS
            assert code(await of(hub).list_dir()) is Code.CANNOT_EXECUTE
        assert not any(serena.calls(name) for name in ("find_symbol", "write_memory", "list_dir"))

    run(refused())


def test_a_serena_that_can_not_be_reached_is_answered_as_by_any_other_call() -> None:
    async def unreachable() -> None:
        async with Hub(servers=[{"name": "serena", "command": "/nobody", "retryPolicy": NONE}]) as hub:
            assert code(await of(hub).find_symbol(name="A")) is Code.CONNECTION_FAILED

    run(unreachable())


def test_serena_is_known_by_its_name_by_what_is_started_or_by_what_it_shows(tmp_path: Path) -> None:
    plain = Scripted(tmp_path, "plain", TODAY[0], TODAY[1])
    greets = Scripted(tmp_path, "greets", {"name": "serena_repl"}, server="Serena")
    offers = Scripted(tmp_path, "offers", *TODAY)
    starts = {"name": "starts", "command": "uvx", "args": ["--from", "p", "serena", "start-mcp-server"]}

    async def known() -> None:
        for server in (greets, offers):
            async with Hub(servers=[plain.config, server.config]) as hub:
                await hub.list_tools("plain")
                assert hub.serena is None
                await hub.list_tools(server.name)
                assert of(hub).server == server.name
        async with Hub(servers=[plain.config, starts]) as hub:
            assert of(hub).server == "starts"
        async with Hub(servers=[starts, {**plain.config, "name": "Serena"}]) as hub:
            assert of(hub).server == "Serena"

    run(known())


def test_what_serena_tells_as_text_comes_as_values_and_symbols_with_the_names_of_the_design(tmp_path: Path) -> None:
    symbol = {
        "name_path": "Shop/price",
        "kind": "Method",
        "relative_path": "shop.py",
        "body_location": {"start_line": 8, "end_line": 9},
        "body": "def price(): ...",
    }
    said: dict[str, Any] = {
        "find_symbol": json.dumps([symbol]),
        "find_file": '{"files": ["a.py"]}',
        "read_memory": "# not JSON",
        "list_dir": "7",
    }
    tools = [{**entry, "does": "count"} for entry in TODAY if entry["name"] in said]
    for entry in tools:
        entry["more"] = {"structuredContent": {"result": said[entry["name"]]}}
    serena = Scripted(tmp_path, "serena", *tools)

    async def values() -> None:
        async with Hub(servers=[serena.config]) as hub:
            (found,) = (await of(hub).find_symbol(name="price", type="function")).data
            assert (found["name"], found["type"], found["path"], found["line"]) == ("price", "method", "shop.py", 9)
            assert found["body"] == "def price(): ..."
            assert (await of(hub).find_file(pattern="*.py")).data == ["a.py"]
            assert (await of(hub).read_memory(key="k")).data == "# not JSON"
            assert (await of(hub).list_dir()).data == "7"

    run(values())


@pytest.mark.parametrize(
    "body", ["def b():\n    if x:\n        y()\n\n    z()", "  def b():\n      if x:\n          y()\n\n      z()"]
)
def test_a_body_is_moved_in_as_far_as_its_symbol_stands_where_that_is_asked_for(tmp_path: Path, body: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.py").write_text("class A:\n\tdef b():\n\t\t...\n")
    find = {**TODAY[0], "does": "count"}
    find["more"] = {"structuredContent": {"result": json.dumps([{"body_location": {"start_line": 1}}])}}
    serena = Scripted(tmp_path, "serena", find, TODAY[2])

    async def replace() -> None:
        async with Hub(servers=[serena.config]) as hub:
            given: dict[str, Any] = {**PLACE, "new_body": body, "preserve_indentation": True}
            answer = await of(hub).replace_symbol_body(**given, worktree=tree)
            assert answer.data["arguments"]["body"] == "def b():\n\t    if x:\n\t        y()\n\n\t    z()"
            # Without the file nobody can say how far that is.
            gone = await of(hub).replace_symbol_body(**{**given, "path": "gone.py"}, worktree=tree)
            assert code(gone) is Code.INVALID_PARAMS
        assert serena.calls("replace_symbol_body") == 1

    run(replace())


START = ["start-mcp-server", "--context", "ide"]
ROOT = "${PROJECT_ROOT}"


def configured(**entry: Any) -> ServerConfig:
    return server_of({"name": "x", **entry}, Options())


@pytest.mark.parametrize(
    ("entry", "per_worktree", "added"),
    [
        ({"command": "serena", "args": START}, True, ["--project", ROOT]),
        ({"command": "/opt/bin/serena-mcp"}, True, []),
        ({"command": "uvx", "args": ["--from", "serena-agent", "serena", *START]}, True, ["--project", ROOT]),
        ({"command": "serena", "args": START, "perWorktree": False}, False, ["--project", ROOT]),
        ({"command": "serena", "args": [*START, "--project", ROOT]}, True, []),
        ({"command": "serena", "args": [*START, f"--project={ROOT}/part"]}, True, []),
        ({"command": "serena", "args": [*START, "--project-from-cwd"]}, True, []),
        ({"command": "serena", "args": [*START, "--project", "/fixed"]}, False, []),
        ({"command": "docker", "args": ["run", "-i", "image", "serena", *START]}, True, []),
        ({"command": "npx", "args": ["some-server", "/home/me/serena"]}, False, []),
        ({"command": "serena-like"}, False, []),
        ({"name": "serena", "url": "http://h/mcp"}, False, []),
    ],
)
def test_a_serena_has_the_project_of_its_worktree_unless_its_configuration_says_otherwise(
    entry: dict[str, Any], per_worktree: bool, added: list[str]
) -> None:
    config = configured(**entry)
    assert config.per_worktree is per_worktree
    assert list(config.args) == [*entry.get("args", []), *added]


def test_each_worktree_has_a_serena_of_its_own(tmp_path: Path) -> None:
    look = tool("list_dir", "relative_path", "recursive", required=2, does="environment")
    serena = Scripted(tmp_path, "serena", look)
    trees = [tmp_path / "a", tmp_path / "b"]
    for tree in trees:
        tree.mkdir()

    async def each() -> None:
        async with Hub(servers=[serena.config], root=tmp_path) as hub:
            for tree in (*trees, *trees):
                assert (await of(hub).list_dir(worktree=tree)).data["cwd"] == str(tree)
        assert len(serena.pids) == 2

    run(each())
