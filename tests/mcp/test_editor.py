"""S2: the tools of an editor answer what the terminal answers, and refuse with its numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.mcp.client import RpcRefusal
from tests.mcp.town import Town


def terminal(town: Town, *words: object) -> tuple[int, Any]:
    """What `kumi … --json` prints in the project's folder."""
    ended = subprocess.run(
        [sys.executable, "-m", "kumihimo", *map(str, words), "--json"], capture_output=True, timeout=60,
        cwd=town.alpha.working_directory, env={"KUMI_HOME": str(town.home), "KUMI_DB": town.database, "PATH": "/usr/bin"},
    )  # fmt: skip
    return ended.returncode, msgspec.json.decode(ended.stdout) if ended.stdout else None


def test_every_tool_that_reads_gives_the_same_json_as_its_verb(town: Town) -> None:
    editor = town.client("editor")
    made = editor.call(
        "task_create",
        title="from MCP",
        description="d\n二",
        priority="critical",
        type="bug",
        assignee="dev",
        assigneeType="ai",
    )
    editor.call("session_start", taskId=made["id"], agent="dev")
    editor.call(
        "memory_add", id="linter", category="tooling", title="Use ruff", summary="s", status="active", content="c"
    )
    for tool, arguments, verb in (
        ("task_list", {}, ("task", "ls")),
        ("task_list", {"status": "in_progress", "limit": 1}, ("task", "ls", "--status", "in_progress", "--limit", 1)),
        ("task_get", {"id": made["id"]}, ("task", "show", made["id"])),
        ("task_get", {"id": made["taskId"]}, ("task", "show", made["taskId"])),
        ("session_list", {}, ("session", "ls")),
        (
            "session_list",
            {"taskId": made["id"], "status": "running"},
            ("session", "ls", "--task", made["id"], "--status", "running"),
        ),
        ("agent_list", {}, ("agent", "ls")),
        ("agent_get", {"name": "dev"}, ("agent", "show", "dev")),
        ("memory_list", {"category": "tooling"}, ("memory", "ls", "--category", "tooling")),
        ("memory_preview", {}, ("memory", "preview")),
    ):
        assert editor.call(tool, **arguments).data == terminal(town, *verb)[1], tool


def test_every_tool_that_writes_answers_in_the_shape_of_its_verb(town: Town) -> None:
    editor = town.client("editor")
    pairs = [
        (("task_create", {"title": "a", "assignee": "dev"}), ("task", "add", "b", "--assignee", "dev")),
        (("task_update", {"id": 1, "priority": "low"}), ("task", "update", 2, "--priority", "low")),
        (("session_start", {"taskId": 1}), ("session", "start", 2)),
        (("session_end", {"sessionId": 1, "exitCode": 0}), ("session", "end", 2, "--exit-code", 0)),
        (
            ("memory_add", {"id": "x", "category": "c", "title": "t"}),
            ("memory", "add", "y", "--category", "c", "--title", "t"),
        ),
    ]
    for (tool, arguments), verb in pairs:
        by_tool = editor.call(tool, **arguments).data
        code, by_verb = terminal(town, *verb)
        assert code == 0
        assert {key: type(value) for key, value in by_tool.items()} == {
            key: type(value) for key, value in by_verb.items()
        }


@pytest.mark.parametrize(
    ("tool", "arguments", "number", "name", "verb", "code"),
    [
        ("task_get", {"id": 99}, -32001, "TaskNotFound", ("task", "show", 99), 5),
        ("agent_get", {"name": "nobody"}, -32002, "AgentNotFound", ("agent", "show", "nobody"), 5),
        ("session_end", {"sessionId": 99, "exitCode": 0}, -32003, "SessionNotFound", ("session", "end", 99, "--exit-code", 0), 5),
        ("task_update", {"id": 1, "status": "done"}, -32004, "InvalidStatus", ("task", "update", 1, "--status", "done"), 6),
        ("session_start", {"taskId": 2}, -32005, "SessionAlreadyRunning", ("session", "start", 2), 6),
        ("memory_add", {"id": "../x", "category": "c", "title": "t"}, -32007, "ValidationError",
         ("memory", "add", "../x", "--category", "c", "--title", "t"), 2),
        ("task_create", {"title": ""}, -32007, "ValidationError", ("task", "add", ""), 2),
        ("task_create", {"title": 5}, -32602, "InvalidParams", None, 0),
        ("task_list", {"limit": "many"}, -32602, "InvalidParams", None, 0),
    ],
)  # fmt: skip
def test_a_refusal_has_the_number_of_its_kind_here_and_the_exit_code_there(
    town: Town, tool: str, arguments: dict[str, Any], number: int, name: str, verb: tuple[object, ...] | None, code: int
) -> None:
    town.task("todo", status="todo")
    editor = town.client("editor")
    town.task("running", status="todo")
    editor.call("session_start", taskId=2)
    with pytest.raises(RpcRefusal) as refusal:
        editor.call(tool, **arguments)
    assert (refusal.value.code, refusal.value.data["code"]) == (number, name)
    if verb is not None:
        assert terminal(town, *verb)[0] == code


def test_a_project_that_is_not_clear_is_a_configuration_error(town: Town, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    from msgspec.structs import replace

    editor = town.client("editor", project=replace(town.alpha, working_directory=str(tmp_path / "elsewhere")))
    with pytest.raises(RpcRefusal) as refusal:
        editor.call("task_list")
    assert (refusal.value.code, refusal.value.data) == (-32006, {"code": "ConfigError"})


def test_words_of_an_editor_stand_for_those_of_the_board(town: Town) -> None:
    editor = town.client("editor")
    blocked = town.task("red")
    town.board.tasks.update(_anywhere(), blocked.id, status="blocked")
    town.task("later", status="backlog")
    town.task("next", status="todo")
    assert [t["title"] for t in editor.call("task_list", status="failed")["tasks"]] == ["red"]
    assert [t["title"] for t in editor.call("task_list", status="open")["tasks"]] == ["next", "later"]
    assert editor.call("task_update", id=1, status="open")["status"] == "todo"


def _anywhere():
    from kumihimo.services.projects import Place

    return Place()


def test_resources_have_their_mime_types_and_say_what_the_tools_say(town: Town) -> None:
    editor, task = town.client("editor"), town.task("as a resource")
    editor.call("memory_add", id="linter", category="tooling", title="Use ruff")
    editor.call("memory_add", id="later", category="rule", title="Not yet", status="draft")
    bank = editor.read("project://memory")
    assert bank["mimeType"] == "text/markdown"
    assert "Use ruff" in bank["text"]
    assert "Not yet" not in bank["text"]
    for name in (task.number, task.id):
        shown = editor.read(f"task://{name}")
        assert shown["mimeType"] == "application/json"
        assert msgspec.json.decode(shown["text"]) == editor.call("task_get", id=task.id).data
    definition = editor.read("agent://dev")
    assert definition["mimeType"] == "application/yaml"
    lines = dict(line.split(": ", 1) for line in definition["text"].splitlines())
    assert (msgspec.json.decode(lines["name"]), msgspec.json.decode(lines["role"])) == ("dev", "frontend")
    for uri in ("task://99", "agent://nobody", "nonsense://x"):
        with pytest.raises(RpcRefusal) as refusal:
            editor.read(uri)
        assert refusal.value.code == -32002
