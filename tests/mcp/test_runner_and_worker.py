"""S1: a Runner asks, an instance logs in, works, hands over and reports; a manager looks on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from kumihimo import __version__
from kumihimo.app import now
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from tests.mcp.town import Town


def test_a_runner_is_told_to_start_once_and_never_hears_of_a_task(town: Town) -> None:
    runner = town.client("runner")
    pair = {"agent_id": town.dev.agent.id, "project_id": town.alpha.id}
    assert runner.call("should_start", **pair).data == {"should_start": False}
    town.task("Secret title")
    said = runner.call("should_start", **pair).data
    assert said == {"should_start": True, "ai_type": "claude", "client": "claude-code"}
    assert runner.call("should_start", **pair).data == {"should_start": False}
    for unknown in ({**pair, "agent_id": "agt_nobody"}, {**pair, "project_id": "prj_nothing"}):
        assert runner.call("should_start", **unknown).data == {"should_start": False}
    assert "Secret" not in str(runner.call("list_active_projects_with_agents").data)


def test_the_server_says_that_it_is_there_which_version_it_is_and_what_time(town: Town) -> None:
    said = town.client("runner").call("health_check").data
    assert (said["status"], said["version"]) == ("ok", __version__)
    assert abs((now() - datetime.fromisoformat(said["timestamp"])).total_seconds()) < 600


def test_only_active_projects_and_agents_are_listed(town: Town) -> None:
    runner = town.client("runner")
    listed = {p["project_id"]: p for p in runner.call("list_active_projects_with_agents")["projects"]}
    assert listed[town.alpha.id]["agents"] == [town.dev.agent.id, town.rev.agent.id]
    assert listed[town.alpha.id]["project_name"] == "alpha"
    town.board.projects.move("beta", "pause")
    town.board.agents.archive("rev")
    listed = {p["project_id"]: p for p in runner.call("list_active_projects_with_agents")["projects"]}
    assert list(listed) == [town.alpha.id]
    assert listed[town.alpha.id]["agents"] == [town.dev.agent.id]


def test_waiting_for_work_answers_as_soon_as_there_is_some(town: Town) -> None:
    runner = town.client("runner")
    assert runner.call("wait_for_work", timeout_ms=0).data == {"success": True, "pairs": [], "timed_out": True}
    pair = {"agent_id": town.dev.agent.id, "project_id": town.alpha.id}
    task = town.task(status="todo")
    # Asked first, answered when the work comes: the request is on its way before the task moves.
    waiting = ThreadPoolExecutor(1)
    asked = waiting.submit(runner.call, "wait_for_work", timeout_ms=30_000)
    town.board.tasks.update(Place(), task.id, status="in_progress")
    answer = asked.result(60).data
    assert (answer["pairs"], answer["timed_out"]) == ([pair], False)
    waiting.shutdown()


def test_many_that_wait_hold_nobody_up_and_are_all_answered(town: Town) -> None:
    runner, task = town.client("runner"), town.task(status="todo")
    waiting = {runner.send_call("wait_for_work", timeout_ms=45_000) for _ in range(30)}
    assert runner.call("health_check")["status"] == "ok"
    town.board.tasks.update(Place(), task.id, status="in_progress")
    answers = [runner.receive() for _ in waiting]
    assert {answer["id"] for answer in answers} == waiting
    assert all(answer["result"]["structuredContent"]["timed_out"] is False for answer in answers)


def test_an_instance_logs_in_works_and_reports_and_the_record_is_kept_once(town: Town) -> None:
    worker, manager = town.client("worker"), town.client("manager")
    task = town.task("Build the page")
    manager.call("save_context", task_id=task.id, progress="forty percent")
    manager.call(
        "create_handoff", task_id=task.id, from_agent_id=town.rev.agent.id, to_agent_id=town.dev.agent.id, summary="red"
    )
    login = worker.call(
        "authenticate", agent_id=town.dev.agent.id, passkey=town.dev.passkey, project_id=town.alpha.id
    ).data
    assert (login["expires_in"], login["agent_name"], login["project_name"]) == (3600, "dev", "alpha")
    assert login["system_prompt"] == "You write the front end. 日本語も。"
    assert "get_my_task" in login["instruction"]
    token = login["session_token"]
    for _ in range(2):
        mine = worker.call("get_my_task", session_token=token).data
        assert mine["task"]["task_id"] == task.id
        assert mine["task"]["context"]["progress"] == "forty percent"
        assert mine["task"]["handoff"]["summary"] == "red"
    (log,) = manager.call("list_execution_logs", task_id=task.id)["logs"]
    assert log["status"] == "running"
    assert not worker.call(
        "report_completed", session_token=token, result="success", summary="built", next_steps="deploy"
    ).is_error
    assert town.status(task) == "done"
    (log,) = manager.call("list_execution_logs", task_id=task.id)["logs"]
    assert (log["status"], log["agentId"]) == ("completed", town.dev.agent.id)
    assert log["completedAt"]
    assert manager.call("get_task_context", task_id=task.id)["context"]["next_steps"] == "deploy"
    assert worker.call("get_my_task", session_token=token)["error"] == "Invalid or expired session_token"


@pytest.mark.parametrize("result", ["failed", "blocked"])
def test_a_report_of_failure_blocks_the_task_with_the_reason(town: Town, result: str) -> None:
    worker, task = town.client("worker"), town.task()
    token = town.login(worker)
    worker.call("get_my_task", session_token=token)
    worker.call("report_completed", session_token=token, result=result, summary="no key")
    blocked = town.board.tasks.get(Place(), task.id)
    assert (blocked.status, blocked.status_reason) == ("blocked", "no key")


def test_a_success_with_a_handoff_gives_the_task_to_the_heir_still_in_progress(town: Town) -> None:
    runner, worker, task = town.client("runner"), town.client("worker"), town.task()
    token = town.login(worker)
    worker.call("get_my_task", session_token=token)
    made = worker.call("create_handoff", session_token=token, to_agent_id=town.rev.agent.id, summary="review it").data
    worker.call("report_completed", session_token=token, result="success")
    kept = town.board.tasks.get(Place(), task.id)
    assert (kept.status, kept.assignee_id) == ("in_progress", town.rev.agent.id)
    heir = {"agent_id": town.rev.agent.id, "project_id": town.alpha.id}
    assert runner.call("should_start", **heir)["should_start"] is True
    token = town.login(worker, town.rev)
    waiting = worker.call("get_pending_handoffs", session_token=token)["handoffs"]
    assert [handoff["handoff_id"] for handoff in waiting] == [made["handoff_id"]]
    assert worker.call("accept_handoff", session_token=token, handoff_id=made["handoff_id"])["handoff"]["accepted_at"]
    worker.call("report_completed", session_token=token, result="success")
    assert town.status(task) == "done"


def test_the_heir_has_the_task_whoever_handed_it_over_besides(town: Town) -> None:
    worker, manager, task = town.client("worker"), town.client("manager"), town.task()
    token = town.login(worker)
    worker.call("get_my_task", session_token=token)
    worker.call("create_handoff", session_token=token, to_agent_id=town.rev.agent.id, summary="review it")
    worker.call("create_handoff", session_token=token, summary="or whoever has time")
    manager.call("create_handoff", task_id=task.id, from_agent_id=town.rev.agent.id, summary="after the review")
    worker.call("report_completed", session_token=token, result="success")
    kept = town.board.tasks.get(Place(), task.id)
    assert (kept.status, kept.assignee_id) == ("in_progress", town.rev.agent.id)


def test_what_a_session_says_without_naming_a_task_is_about_the_one_it_took_up(town: Town) -> None:
    worker, task = town.client("worker"), town.task("taken up")
    token = town.login(worker)
    worker.call("get_my_task", session_token=token)
    urgent = town.board.tasks.create(
        Place(town.alpha.id), NewTask("urgent", status="in_progress", assignee="dev", priority="critical")
    ).task
    assert worker.call("save_context", session_token=token, progress="half")["task_id"] == task.id
    assert worker.call("get_task_context", session_token=token)["task_id"] == task.id
    assert worker.call("create_handoff", session_token=token, summary="more")["handoff"]["task_id"] == task.id
    worker.call("report_completed", session_token=token, result="success")
    assert (town.status(task), town.status(urgent)) == ("done", "in_progress")


def test_a_report_on_a_task_that_was_taken_away_is_kept_and_moves_no_other(town: Town) -> None:
    worker, manager = town.client("worker"), town.client("manager")
    task, other = town.task("first"), town.task("second")
    token = town.login(worker)
    assert worker.call("get_my_task", session_token=token)["task"]["task_id"] == task.id
    manager.call("update_task_status", task_id=task.id, status="cancelled")
    assert worker.call("save_context", session_token=token, progress="half")["task_id"] == task.id
    assert not worker.call("report_completed", session_token=token, result="success", summary="first is done").is_error
    assert (town.status(task), town.status(other)) == ("cancelled", "in_progress")
    (log,) = manager.call("list_execution_logs")["logs"]
    assert (log["taskId"], log["status"]) == (task.id, "completed")


def test_who_asks_again_after_its_task_was_taken_away_has_the_next_one_on_a_record_of_its_own(town: Town) -> None:
    worker, manager = town.client("worker"), town.client("manager")
    task, other = town.task("first"), town.task("second")
    token = town.login(worker)
    worker.call("get_my_task", session_token=token)
    manager.call("update_task_status", task_id=task.id, status="blocked")
    assert worker.call("get_my_task", session_token=token)["task"]["task_id"] == other.id
    worker.call("report_completed", session_token=token, result="success")
    assert (town.status(task), town.status(other)) == ("blocked", "done")
    logs = {log["taskId"]: log["status"] for log in manager.call("list_execution_logs")["logs"]}
    assert set(logs) == {task.id, other.id}
    assert logs[other.id] == "completed"


def test_a_success_in_a_project_with_worktrees_waits_for_its_facts_and_starts_nobody(town: Town) -> None:
    runner, worker = town.client("runner"), town.client("worker")
    change = town.board.projects.show("alpha")
    town.board.store.write(lambda t: t.projects.save(_with_worktrees(change)))
    task = town.task()
    pair = {"agent_id": town.dev.agent.id, "project_id": town.alpha.id}
    token = town.login(worker)
    worker.call("report_completed", session_token=token, result="success")
    assert town.status(task) == "in_progress"
    assert runner.call("should_start", **pair)["should_start"] is False
    assert worker.call("get_my_task", session_token=town.login(worker))["has_task"] is False


def _with_worktrees(project):
    from msgspec.structs import replace

    from kumihimo.domain.event import Change

    return Change(replace(project, worktrees=True), "project.updated", project.updated_at)


def test_three_instances_that_end_without_a_word_block_the_task(town: Town) -> None:
    runner, task = town.client("runner"), town.task()
    pair = {"agent_id": town.dev.agent.id, "project_id": town.alpha.id}
    for number in range(3):
        assert town.status(task) == "in_progress"
        assert runner.call("should_start", **pair)["should_start"] is True
        started = runner.call("report_instance", **pair, instance_id=f"i{number}", state="starting")
        assert started["instance_token"].startswith("kins_")
        runner.call("report_instance", **pair, instance_id=f"i{number}", state="alive")
        runner.call("report_instance", **pair, instance_id=f"i{number}", state="exited", exit_code=number)
    blocked = town.board.tasks.get(Place(), task.id)
    assert blocked.status == "blocked"
    assert "exit code 0, exit code 1, exit code 2" in str(blocked.status_reason)
    town.board.tasks.update(Place(), task.id, status="in_progress")
    assert runner.call("should_start", **pair)["should_start"] is True


def test_a_session_is_over_with_its_instance(town: Town) -> None:
    runner, worker, task = town.client("runner"), town.client("worker"), town.task()
    pair = {"agent_id": town.dev.agent.id, "project_id": town.alpha.id}
    runner.call("report_instance", **pair, instance_id="i1", state="starting")
    token = town.login(worker)
    worker.call("get_my_task", session_token=token)
    runner.call("report_instance", **pair, instance_id="i1", state="exited", signal="SIGKILL")
    assert worker.call("get_my_task", session_token=token).is_error
    (run,) = town.board.executions.list(task_id=task.id).items
    assert run.status == "lost"


def test_the_deprecated_calls_keep_their_shapes(town: Town) -> None:
    worker, manager, task = town.client("worker"), town.client("manager"), town.task("again")
    token = town.login(worker)
    (entry,) = worker.call("get_pending_tasks", session_token=token)["tasks"]
    assert set(entry) == {"taskId", "projectId", "title", "description", "priority", "workingDirectory", "assignedAt"}
    started = worker.call("report_execution_start", session_token=token, task_id=task.id).data
    ended = worker.call(
        "report_execution_complete", session_token=token, execution_id=started["execution_id"], exit_code=1,
        duration_seconds=930.5, log_file_path="/logs/one.log",
    ).data  # fmt: skip
    assert ended["status"] == "failed"
    log = manager.call("get_execution_log", execution_id=started["execution_id"])["log"]
    assert (log["durationSeconds"], log["logFilePath"], log["exitCode"]) == (930.5, "/logs/one.log", 1)
    refused = worker.call("report_execution_start", session_token=token, task_id="tsk_nothing")
    assert refused["error"] == "Invalid session_token or task_id"
    refused = worker.call("report_execution_complete", session_token=token, execution_id="exec_unknown", exit_code=0)
    assert refused["error"] == "Invalid execution_id or session_token"


def test_old_names_still_work_and_are_not_listed(town: Town) -> None:
    worker, manager = town.client("worker"), town.client("manager")
    assert (
        worker.call("start_session", agent_id="x", passkey="y", project_id="z")["error"]
        == "Invalid agent_id or passkey"
    )
    assert worker.call("end_session", session_token="sess_unknown").is_error
    assert worker.call("get_my_tasks", session_token=town.login(worker))["tasks"] == []
    assert manager.call("get_my_profile", agent_id=town.dev.agent.id)["agent"]["name"] == "dev"
    assert {"start_session", "end_session", "get_my_tasks"}.isdisjoint(worker.tools())
    assert "get_my_profile" not in manager.tools()


def test_the_three_together_are_one_server_where_a_token_decides_who_speaks(town: Town) -> None:
    whole, task = town.client("runner,worker,manager"), town.task()
    token = town.login(whole)
    whole.call("save_context", session_token=token, progress="mine")
    whole.call("save_context", task_id=task.id, findings="the manager's")
    history = whole.call("get_task_context", task_id=task.id, include_history=True)["history"]
    assert [(entry["type"], entry["agent_id"]) for entry in history] == [
        ("progress", town.dev.agent.id),
        ("findings", None),
    ]
    schema = whole.tools()["save_context"]["inputSchema"]
    assert {"session_token", "task_id", "progress"} <= set(schema["properties"])
    assert "session_token" not in schema.get("required", [])


def test_a_session_that_has_not_asked_for_its_task_may_report_on_it(town: Town) -> None:
    worker, task = town.client("worker"), town.task()
    token = town.login(worker)
    said = worker.call("report_result", session_token=token, status="success", summary="done")
    assert said["registered"] is True
    (run,) = town.board.executions.list(task_id=task.id).items
    assert said["agentId"] == run.id


def test_an_agent_may_say_who_it_is_and_nobody_else(town: Town) -> None:
    task = town.task()
    for toolset in ("worker", "runner,worker,manager"):
        worker = town.client(toolset)
        token, me, other = town.login(worker), town.dev.agent.id, town.rev.agent.id
        made = worker.call("create_handoff", session_token=token, from_agent_id=me, to_agent_id=me, summary="x").data
        assert made["handoff"]["from_agent_id"] == me
        waiting = worker.call("get_pending_handoffs", session_token=token, agent_id=me)["handoffs"]
        assert made["handoff_id"] in [handoff["handoff_id"] for handoff in waiting]
        for tool, arguments in (
            ("create_handoff", {"from_agent_id": other, "summary": "x"}),
            ("get_pending_handoffs", {"agent_id": other}),
            ("accept_handoff", {"agent_id": other, "handoff_id": made["handoff_id"]}),
        ):
            assert worker.call(tool, session_token=token, **arguments)["code"] == "PermissionDenied"
        accepted = worker.call("accept_handoff", session_token=token, handoff_id=made["handoff_id"], agent_id=me)
        assert accepted["handoff"]["accepted_at"]
        worker.call("logout", session_token=token)
    assert town.status(task) == "in_progress"


def test_without_a_token_it_is_the_manager_who_speaks_whatever_the_words_are(town: Town) -> None:
    whole, task = town.client("runner,worker,manager"), town.task()
    for arguments in ({"session_token": None, "progress": "one"}, {"progress": "session_token"}):
        saved = whole.call("save_context", task_id=task.id, **arguments)
        assert saved["context"]["progress"] == arguments["progress"]


def test_a_reported_parent_is_done_when_the_last_task_below_it_is_over(town: Town) -> None:
    runner, worker, manager = town.client("runner"), town.client("worker"), town.client("manager")
    top, middle = town.task("top"), town.task("middle")
    town.board.tasks.update(Place(), middle.id, parent=top.id)
    below = [town.board.tasks.create(Place(town.alpha.id), NewTask(n, parent=middle.id)).task for n in ("a", "b")]
    pair = {"agent_id": town.dev.agent.id, "project_id": town.alpha.id}
    for _ in (top, middle):
        token = town.login(worker)
        assert worker.call("get_my_task", session_token=token)["has_task"]
        said = worker.call("report_completed", session_token=token, result="success", summary="my part is done")
        assert "open subtasks" in said["instruction"]
    assert runner.call("should_start", **pair)["should_start"] is False
    town.board.tasks.update(Place(), below[0].id, status="cancelled")
    assert (town.status(top), town.status(middle)) == ("in_progress", "in_progress")
    town.board.tasks.update(Place(), below[1].id, assignee="dev", status="in_progress")
    assert not manager.call("update_task_status", task_id=below[1].id, status="done").is_error
    assert (town.status(top), town.status(middle)) == ("done", "done")
    assert town.board.tasks.get(Place(), top.id).status_reason == "my part is done"


def test_a_reported_parent_is_done_when_the_last_open_task_below_it_is_put_below_another(town: Town) -> None:
    worker, parent, other = town.client("worker"), town.task("parent"), town.task("other")
    below = town.board.tasks.create(Place(town.alpha.id), NewTask("below", parent=parent.id)).task
    token = town.login(worker)
    worker.call("get_my_task", session_token=token)
    worker.call("report_completed", session_token=token, result="success", summary="my part is done")
    town.board.tasks.update(Place(), below.id, title="still below it", parent=parent.id)
    assert town.status(parent) == "in_progress"
    town.board.tasks.update(Place(), below.id, parent=other.id)
    assert (town.status(parent), town.status(other)) == ("done", "in_progress")


def test_a_parent_of_which_nothing_was_reported_stays_as_it_is_when_the_last_task_below_it_is_over(town: Town) -> None:
    parent = town.task("parent")
    below = town.board.tasks.create(Place(town.alpha.id), NewTask("below", parent=parent.id)).task
    town.board.tasks.update(Place(), below.id, status="cancelled")
    assert town.status(parent) == "in_progress"
