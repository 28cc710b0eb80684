"""Who says that a task is done: a report is a claim, and the facts decide."""

from __future__ import annotations

from typing import Any

import pytest

from kumihimo.services.agents import KeyedAgent
from tests.lead.shop import until
from tests.mcp.client import StdioClient
from tests.workers.workshop import Workshop


@pytest.fixture(scope="module")
def instance(workshop: Workshop) -> KeyedAgent:
    """Somebody who logs in and works in the project's own folder."""
    made = workshop.board.agents.add("instance")
    workshop.board.projects.assign(workshop.project.id, made.agent)
    return made


@pytest.fixture(scope="module")
def door(workshop: Workshop) -> StdioClient:
    return workshop.door("worker,manager")


def reported(workshop: Workshop, door: StdioClient, who: KeyedAgent, number: int, result: str = "success") -> Any:
    """The task, after its instance has said what came of it."""
    workshop.board.tasks.update(workshop.place, number, status="in_progress")
    token = door.call(
        "authenticate", agent_id=who.agent.id, passkey=who.passkey, project_id=workshop.project.id
    )["session_token"]  # fmt: skip
    assert door.call("get_my_task", session_token=token)["task"]["task_id"] == workshop.see(number).id
    assert not door.call("report_completed", session_token=token, result=result, summary="I did it.").is_error
    return workshop.see(number)


def test_a_task_without_a_worktree_is_done_when_success_is_reported_and_its_checks_pass_in_its_folder(
    workshop: Workshop, instance: KeyedAgent, door: StdioClient
) -> None:
    gate = workshop.gate()
    dod = [f"while [ ! -e {gate} ]; do sleep 0.05; done; test -f README.md"]
    number = workshop.task(assignee="instance", dod=dod)
    claimed = reported(workshop, door, instance, number)
    assert (claimed.status, claimed.claimed_by is not None) == ("in_progress", True)
    gate.touch()
    until(lambda: workshop.see(number).status == "done")
    evidence = workshop.board.evidence.of(workshop.see(number).claimed_by or claimed.claimed_by)
    assert evidence is not None
    assert [check.status for check in evidence.checks] == ["passed"]


def test_success_is_not_enough_where_a_check_does_not_pass(
    workshop: Workshop, instance: KeyedAgent, door: StdioClient
) -> None:
    number = workshop.task(assignee="instance", dod=["exit 5"])
    reported(workshop, door, instance, number)
    until(lambda: workshop.see(number).status == "blocked")
    assert "exit 5" in (workshop.see(number).status_reason or "")


def test_a_reported_failure_is_not_checked_and_blocks_at_once(
    workshop: Workshop, instance: KeyedAgent, door: StdioClient
) -> None:
    trace = workshop.gate()
    number = workshop.task(assignee="instance", dod=[f"touch {trace}"])
    assert reported(workshop, door, instance, number, "failed").status == "blocked"
    run = workshop.board.work_sessions.latest(workshop.place, number).execution
    workshop.over(run)
    assert not trace.exists()


def test_without_checks_a_reported_success_is_all_there_is(
    workshop: Workshop, instance: KeyedAgent, door: StdioClient
) -> None:
    number = workshop.task(assignee="instance")
    assert reported(workshop, door, instance, number).status == "done"


def test_update_task_status_to_done_obeys_the_same(workshop: Workshop, door: StdioClient) -> None:
    checked = workshop.task(assignee="instance", dod=["true"])
    unmerged = workshop.task(workshop.writes("status/a"))
    run = workshop.work(unmerged)
    workshop.board.tasks.update(workshop.place, checked, status="in_progress")
    for number in (checked, unmerged):
        refused = door.call("update_task_status", task_id=workshop.see(number).id, status="done")
        assert refused.is_error
        assert workshop.see(number).status == "in_progress"
    assert workshop.merge(unmerged)[0].status == "merged"
    assert workshop.show(run).dod_result == "merged"
    assert workshop.see(unmerged).status == "done"
    # Only a person overrules it, and no tool of an agent has the word for that.
    assert "force" not in door.tools()["update_task_status"]["inputSchema"]["properties"]
    assert workshop.board.tasks.update(workshop.place, checked, status="done", force=True).task.status == "done"


def test_a_worker_that_left_nothing_behind_may_be_called_done_once_its_checks_have_passed(workshop: Workshop) -> None:
    number = workshop.task(workshop.script().say("Nothing needed doing."), dod=["true"])
    workshop.work(number)
    assert workshop.see(number).status == "in_progress"
    assert workshop.board.tasks.update(workshop.place, number, status="done").task.status == "done"


def test_a_worker_that_only_took_in_what_others_did_has_done_nothing(workshop: Workshop) -> None:
    gate, there = workshop.gate(), workshop.gate()
    script = workshop.script().touch(there).wait(gate).shell("git merge -q --ff-only main")
    number = workshop.task(script.report_result("success", "All done."))
    run = workshop.worker(number)
    until(there.exists)
    workshop.commit("others/a", "by hand\n")
    gate.touch()
    workshop.over(run)
    assert workshop.see(number).status == "in_progress"
    assert workshop.merge(number)[0].status == "refused"


def test_checks_that_only_the_settings_have_decide_as_well(
    workshop: Workshop, instance: KeyedAgent, door: StdioClient
) -> None:
    file = workshop.folder / "kumi.toml"
    file.write_text('[agents.instance]\ndod = ["exit 6"]\n')
    try:
        number = workshop.task(assignee="instance")
        assert reported(workshop, door, instance, number).status == "in_progress"
        until(lambda: workshop.see(number).status == "blocked")
    finally:
        file.unlink()
    assert "exit 6" in (workshop.see(number).status_reason or "")
