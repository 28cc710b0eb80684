"""Work that goes from one who died to the next: the context, the handoff, and the prompts that speak of them."""

from __future__ import annotations

from kumihimo.services.projects import Place
from kumihimo.services.run_handoffs import create_from_run
from tests.mcp.town import Town


def test_who_comes_after_one_that_died_is_brought_its_context_and_its_handoff(town: Town) -> None:
    worker, task = town.client("worker"), town.task("Build the page")
    token = town.login(worker)
    worker.call("get_my_task", session_token=token)
    worker.call("save_context", session_token=token, progress="half", next_steps="the rest")
    (run,) = town.board.executions.list(task_id=task.id).items
    session = town.board.sessions.live(town.dev.agent.id, town.alpha.id)
    assert session is not None
    town.board.sessions.end(session.id, "process_died")
    made = create_from_run(town.board, Place(), run.id, to_agent="rev").handoff
    town.board.tasks.update(Place(), task.id, status="blocked")
    town.board.tasks.assign(Place(), task.id, "rev")
    town.board.tasks.update(Place(), task.id, status="in_progress")
    heir = town.login(worker, town.rev)
    mine = worker.call("get_my_task", session_token=heir)["task"]
    assert (mine["task_id"], mine["context"]["progress"]) == (task.id, "half")
    assert mine["handoff"]["handoff_id"] == made.id
    assert mine["handoff"]["next_steps"] == ["the rest"]
    assert mine["handoff"]["warnings"] == ["Nobody knows how it ended: what it has done may be half done."]
    accepted = worker.call("accept_handoff", session_token=heir, handoff_id=made.id)
    assert not accepted.is_error, accepted.data


def test_the_template_of_a_handoff_has_what_the_run_of_the_giver_left(town: Town) -> None:
    manager, task = town.client("manager"), town.task("Build the page")
    bare = manager.prompt("handoff_template", task_id=task.id, from_agent_id=town.dev.agent.id)
    assert "What the last run has left" not in bare
    worker = town.client("worker")
    token = town.login(worker)
    worker.call("get_my_task", session_token=token)
    worker.call("report_completed", session_token=token, result="blocked", summary="no key for the shop")
    filled = manager.prompt("handoff_template", task_id=task.id, from_agent_id=town.dev.agent.id)
    assert "It reported failure: no key for the shop" in filled
    assert "Beware: It did not succeed" in filled
    for other in (town.rev.agent.id, "agt_nobody"):
        assert "no key" not in manager.prompt("handoff_template", task_id=task.id, from_agent_id=other)


def test_a_warning_is_told_from_a_step_at_the_start_of_a_task(town: Town) -> None:
    manager, task = town.client("manager"), town.task()
    town.board.handoffs.create(Place(), task.id, from_agent="rev", summary="s", next_steps=["a"], warnings=["b"])
    assert "- a\n- Beware: b\n" in manager.prompt("task_start", task_id=task.id, agent_id="dev")
