"""What an official client can do at our doors, the same for every client, transport and era."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kumihimo.services.projects import Place
from kumihimo.toolsets.registry import toolset
from tests.interop.conftest import HANDSHAKE, STATELESS, Visitor
from tests.interop.drivers import Refused

MISSING = "tsk_000000000000"
INVALID_PARAMS = -32602
TASK_NOT_FOUND = -32001
RESOURCE_NOT_FOUND = {HANDSHAKE: -32002, STATELESS: -32602}


def content(result: dict[str, Any]) -> Any:
    """The structured answer of a tool, which its text repeats for older clients."""
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


def refusal(result: dict[str, Any]) -> Any:
    """What a tool says instead of an answer. A schema describes answers, so only the text can be relied upon."""
    assert result["isError"] is True
    said = json.loads(result["content"][0]["text"])
    assert said["success"] is False
    return said


@pytest.mark.parametrize("name", ["manager", "editor", "worker", "runner"])
def test_a_client_finds_everything_that_a_toolset_has(visitor: Visitor, name: str) -> None:
    offered = toolset(name)
    with visitor.visit(name) as client:
        assert client.greeting["version"] == visitor.revision
        assert client.greeting["name"] == "kumihimo"
        assert client.greeting["instructions"]
        tools = {tool["name"]: tool for tool in client.do("listTools")["tools"]}
        assert list(tools) == [tool.name for tool in offered.tools]
        for tool in tools.values():
            assert tool["title"]
            assert tool["description"]
            assert (tool["inputSchema"]["type"], tool["outputSchema"]["type"]) == ("object", "object")
            assert "readOnlyHint" in tool["annotations"]
        if offered.resources:
            resources = {resource["uri"] for resource in client.do("listResources")["resources"]}
            templates = {one["uriTemplate"] for one in client.do("listResourceTemplates")["resourceTemplates"]}
            assert resources == {one.uri for one in offered.resources if not one.is_template}
            assert templates == {one.uri for one in offered.resources if one.is_template}
        if offered.prompts:
            prompts = {prompt["name"]: prompt for prompt in client.do("listPrompts")["prompts"]}
            assert list(prompts) == [prompt.name for prompt in offered.prompts]
            assert all(argument["required"] for prompt in prompts.values() for argument in prompt["arguments"])


def test_a_manager_reads_and_plans(visitor: Visitor) -> None:
    task = visitor.house.task("Draw the page")
    with visitor.visit("manager") as client:
        shown = content(client.call("get_task", task_id=task.id))["task"]
        assert (shown["task_id"], shown["title"], shown["depends_on"]) == (task.id, "Draw the page", [])
        made = content(client.call("create_task", project_id=visitor.house.project.id, title="Print 組紐 the page"))
        content(client.call("add_task_dependency", task_id=made["task"]["task_id"], depends_on=task.id))
    kept = visitor.house.board.tasks.get(Place(), made["task"]["task_id"])
    assert (kept.title, kept.depends_on) == ("Print 組紐 the page", (task.id,))


def test_every_answer_of_a_manager_that_only_reads_fits_its_schema(visitor: Visitor) -> None:
    house = visitor.house
    task = house.task("Look at everything")
    agent = house.agent(f"reader-{task.number}").agent
    with visitor.visit("manager") as client:
        client.call("save_context", task_id=task.id, progress="half", findings="it is round")
        heir = house.agent(f"heir-{task.number}").agent
        client.call("create_handoff", task_id=task.id, from_agent_id=agent.id, to_agent_id=heir.id, summary="the rest")
        for name, arguments in (
            ("list_projects", {}),
            ("get_project", {"project_id": house.project.id}),
            ("list_tasks", {"project_id": house.project.id}),
            ("list_agents", {}),
            ("get_agent_profile", {"agent_id": agent.id}),
            ("list_execution_logs", {"task_id": task.id}),
            ("get_task_context", {"task_id": task.id, "include_history": True}),
            ("get_pending_handoffs", {"agent_id": heir.id}),
        ):
            result = client.call(name, **arguments)
            assert not result.get("isError"), (name, result)
            assert content(result)["success"] is True


def test_a_managers_mistake_is_an_answer_that_says_so(visitor: Visitor) -> None:
    with visitor.visit("manager") as client:
        missing = refusal(client.call("get_task", task_id=MISSING))
        assert missing["code"] == "TaskNotFound"
        assert MISSING in missing["error"]
        assert refusal(client.call("get_task", task_id=7))["code"] == "InvalidParams"
        with pytest.raises(Refused) as refused:
            client.call("get_nothing")
        assert refused.value.code == INVALID_PARAMS


def test_an_editor_plans_tasks_and_reads_them_as_resources(visitor: Visitor) -> None:
    with visitor.visit("editor") as client:
        made = content(client.call("task_create", title="Write the page", priority="high"))
        assert (made["title"], made["status"], made["priority"]) == ("Write the page", "todo", "high")
        assert content(client.call("task_get", id=made["id"]))["taskId"] == made["taskId"]
        content(client.call("task_update", id=made["id"], description="With a picture."))
        assert made["id"] in [task["id"] for task in content(client.call("task_list"))["tasks"]]
        (read,) = client.do("readResource", uri=f"task://{made['id']}")["contents"]
        assert read["mimeType"] == "application/json"
        assert json.loads(read["text"])["description"] == "With a picture."
        (memory,) = client.do("readResource", uri="project://memory")["contents"]
        assert memory["mimeType"] == "text/markdown"


def test_an_editors_mistake_is_an_error_of_the_protocol_with_a_number(visitor: Visitor) -> None:
    with visitor.visit("editor") as client:
        with pytest.raises(Refused) as refused:
            client.call("task_get", id=MISSING)
        assert (refused.value.code, refused.value.data) == (TASK_NOT_FOUND, {"code": "TaskNotFound"})
        assert MISSING in refused.value.message
        with pytest.raises(Refused) as refused:
            client.call("task_create", name="no title")
        assert refused.value.code == INVALID_PARAMS
        with pytest.raises(Refused) as refused:
            client.do("readResource", uri="task://99999")
        # The newer TypeScript client tells its program today's number, whichever came over the line.
        assert refused.value.code in (RESOURCE_NOT_FOUND[visitor.revision], INVALID_PARAMS)
        # The line goes on after all of them.
        assert "tasks" in content(client.call("task_list"))


def test_resources_and_prompts_of_a_manager_tell_of_a_task(visitor: Visitor) -> None:
    house = visitor.house
    task = house.task("Colour the page")
    agent = house.agent(f"painter-{task.number}").agent
    with visitor.visit("manager") as client:
        client.call("save_context", task_id=task.id, progress="red is done")
        (read,) = client.do("readResource", uri=f"task://{task.id}")["contents"]
        assert json.loads(read["text"])["title"] == "Colour the page"
        (known,) = client.do("readResource", uri=f"context://{task.id}")["contents"]
        assert "red is done" in known["text"]
        asked = {"task_id": task.id, "agent_id": agent.id, "from_agent_id": agent.id}
        for prompt in toolset("manager").prompts:
            given = {name: asked[name] for name, _ in prompt.arguments}
            (message,) = client.do("getPrompt", name=prompt.name, arguments=given)["messages"]
            assert (message["role"], message["content"]["type"]) == ("user", "text")
            assert "Colour the page" in message["content"]["text"]
        with pytest.raises(Refused) as refused:
            client.do("getPrompt", name="task_start", arguments={})
        assert refused.value.code == INVALID_PARAMS


def test_a_worker_logs_in_works_and_reports(visitor: Visitor) -> None:
    house = visitor.house
    task = house.task("Build the page")
    who = house.agent(f"builder-{task.number}")
    house.board.tasks.assign(Place(), task.id, who.agent.id)
    house.board.tasks.update(Place(), task.id, status="in_progress")
    login = {"agent_id": who.agent.id, "project_id": house.project.id}
    with visitor.visit("worker") as client:
        assert refusal(client.call("authenticate", **login, passkey="not it"))["code"] == "LoginRefused"
        assert refusal(client.call("get_my_task", session_token="made up"))["code"] == "TokenRefused"
        came = content(client.call("authenticate", **login, passkey=who.passkey))
        assert (came["agent_name"], came["project_name"]) == (who.agent.name, "shop")
        token = came["session_token"]
        mine = content(client.call("get_my_task", session_token=token))
        assert (mine["has_task"], mine["task"]["task_id"]) == (True, task.id)
        content(client.call("save_context", session_token=token, task_id=task.id, progress="nearly"))
        done = client.call("report_completed", session_token=token, result="success", summary="built")
        assert not done.get("isError"), done
    assert house.board.tasks.get(Place(), task.id).status == "done"


def test_calls_of_one_client_run_side_by_side(visitor: Visitor) -> None:
    house = visitor.house
    tasks = [house.task(f"One of many: {number}") for number in range(20)]
    with visitor.visit("manager") as client:
        answers = client.call_all("get_task", *({"task_id": task.id} for task in tasks))
    assert [content(answer)["task"]["title"] for answer in answers] == [task.title for task in tasks]


def test_a_wait_does_not_hold_up_another_call(visitor: Visitor) -> None:
    """The Runner's long poll is under way while the same client asks something else."""
    with visitor.visit("runner") as client:
        began = client.begin("wait_for_work", timeout_ms=1_000)
        assert "projects" in content(client.call("list_active_projects_with_agents"))
        assert "pairs" in content(client.end(began))
