"""S1's manager: plans, assigns, reads records, resources and prompts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kumihimo.services.projects import Place
from tests.mcp.client import RpcRefusal
from tests.mcp.town import Town


def test_a_manager_plans_and_assigns_from_nothing(town: Town, tmp_path: Path) -> None:
    manager = town.client("manager")
    (tmp_path / "gamma").mkdir()
    project = manager.call("create_project", name="gamma", working_directory=str(tmp_path / "gamma"))["project"]
    first = manager.call("create_task", project_id=project["project_id"], title="first")["task"]
    second = manager.call(
        "create_task",
        project_id=project["project_id"],
        title="second",
        priority="urgent",
        depends_on=[first["task_id"]],
    )["task"]
    assert (second["priority"], second["depends_on"]) == ("critical", [first["task_id"]])
    third = manager.call(
        "create_task", project_id=project["project_id"], title="third", parent_task_id=first["task_id"]
    )["task"]
    assert third["parent_task_id"] == first["task_id"]
    assert manager.call("add_task_dependency", task_id=third["task_id"], depends_on=second["task_id"])["task"][
        "depends_on"
    ] == [second["task_id"]]
    assert (
        manager.call("add_task_dependency", task_id=first["task_id"], depends_on=third["task_id"])["code"]
        == "DependencyCycle"
    )
    town.board.projects.assign("gamma", town.dev.agent)
    manager.call("assign_task", task_id=first["task_id"], assignee_id=town.dev.agent.id)
    moved = manager.call("update_task_status", task_id=first["task_id"], status="in_progress", reason="now")["task"]
    assert (moved["status"], moved["reason"], moved["assignee_id"]) == ("in_progress", "now", town.dev.agent.id)
    held = manager.call("assign_task", task_id=first["task_id"], assignee_id=town.rev.agent.id)
    assert (held.is_error, held["code"]) == (True, "TaskHeld")
    listed = manager.call(
        "list_tasks", project_id=project["project_id"], status="in_progress", assignee_id=town.dev.agent.id
    )
    assert [task["task_id"] for task in listed["tasks"]] == [first["task_id"]]
    assert {p["name"] for p in manager.call("list_projects")["projects"]} == {"alpha", "beta", "gamma"}


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("get_project", {"project_id": "prj_unknown"}, "ProjectNotFound"),
        ("get_task", {"task_id": "tsk_unknown"}, "TaskNotFound"),
        ("get_agent_profile", {"agent_id": "agt_unknown"}, "AgentNotFound"),
        ("get_execution_log", {"execution_id": "exec_unknown"}, "ExecutionNotFound"),
        ("accept_handoff", {"handoff_id": "hnd_unknown", "agent_id": "dev"}, "HandoffNotFound"),
        ("create_handoff", {"task_id": "tsk_unknown", "from_agent_id": "dev", "summary": "s"}, "TaskNotFound"),
        ("save_context", {"task_id": "tsk_unknown", "progress": "p"}, "TaskNotFound"),
        ("update_task_status", {"task_id": "tsk_unknown", "status": "flying"}, "InvalidParams"),
    ],
)
def test_a_refusal_is_an_answer_with_its_code(town: Town, tool: str, arguments: dict[str, str], code: str) -> None:
    refused = town.client("manager").call(tool, **arguments)
    assert (refused.is_error, refused["success"], refused["code"]) == (True, False, code)
    assert refused["error"]


def test_a_bad_value_is_named_as_the_tool_has_it(town: Town) -> None:
    manager = town.client("manager")
    refused = manager.call("create_project", name="x", working_directory="/nowhere/at/all")
    assert "'working_directory'" in refused["error"]
    refused = manager.call("create_task", project_id=town.alpha.id, title="x", parent_task_id="tsk_unknown")
    assert "'parent_task_id'" in refused["error"]


def test_handoffs_wait_for_whom_they_are_meant(town: Town) -> None:
    manager, task = town.client("manager"), town.task()
    made = manager.call(
        "create_handoff",
        task_id=task.id,
        from_agent_id="dev",
        to_agent_id="rev",
        summary="s",
        context="c",
        recommendations="r",
    )
    assert [h["handoff_id"] for h in manager.call("get_pending_handoffs", agent_id="rev")["handoffs"]] == [
        made["handoff_id"]
    ]
    assert manager.call("get_pending_handoffs", agent_id="dev")["handoffs"] == []
    assert len(manager.call("get_pending_handoffs")["handoffs"]) == 1
    assert manager.call("accept_handoff", handoff_id=made["handoff_id"], agent_id="rev")["handoff"]["accepted_at"]
    assert manager.call("get_pending_handoffs")["handoffs"] == []


def test_everything_can_be_read_by_uri(town: Town) -> None:
    manager, worker, task = town.client("manager"), town.client("worker"), town.task("Secret title")
    token = town.login(worker)
    worker.call("get_my_task", session_token=token)
    worker.call("save_context", session_token=token, progress="half")
    worker.call("create_handoff", session_token=token, summary="over to you")
    (run,) = town.board.executions.list(task_id=task.id).items
    for uri, word in (
        (f"agent://{town.dev.agent.id}", "frontend"),
        (f"project://{town.alpha.id}", town.alpha.working_directory),
        (f"task://{task.id}", "Secret title"),
        (f"context://{task.id}", "half"),
        (f"handoff://{task.id}", "over to you"),
        (f"execution://{run.id}", task.id),
        (f"executions://{task.id}", run.id),
    ):
        shown = manager.read(uri)
        assert (shown["uri"], shown["mimeType"]) == (uri, "application/json")
        assert word in str(msgspec.json.decode(shown["text"]))
    for uri in ("task://tsk_unknown", "agent://me", "nonsense://x", "handoff://tsk_unknown"):
        with pytest.raises(RpcRefusal) as refusal:
            manager.read(uri)
        assert refusal.value.code == -32002


def test_prompts_say_what_is_known_and_leave_out_what_is_not(town: Town) -> None:
    manager, task = town.client("manager"), town.task("Build it")
    bare = manager.prompt("task_start", task_id=task.id, agent_id="dev")
    assert "Build it" in bare
    assert "None" not in bare
    assert "What is known" not in bare
    town.board.contexts.save(Place(), task.id, progress="half", findings="cache lies")
    town.board.handoffs.create(Place(), task.id, from_agent="rev", summary="take care", next_steps=["attic"])
    for name, arguments in (
        ("task_start", {"agent_id": "dev"}),
        ("handoff_template", {"from_agent_id": "dev"}),
        ("context_summary", {}),
    ):
        said = manager.prompt(name, task_id=task.id, **arguments)
        assert "Build it" in said
        assert "cache lies" in said
    assert "attic" in manager.prompt("task_start", task_id=task.id, agent_id="dev")
    with pytest.raises(RpcRefusal) as refusal:
        manager.prompt("task_start", task_id=task.id)
    assert refusal.value.code == -32602
