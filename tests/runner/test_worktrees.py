"""A project with worktrees: an instance works in that of its task, and who takes over goes on where the other was."""

from __future__ import annotations

import json
from pathlib import Path

from kumihimo.services.merging import Merger
from kumihimo.services.projects import Place
from tests.runner.conftest import MakeYard
from tests.runner.yard import logs_in, of_session, reports
from tests.supervisor.patience import until


def test_an_instance_works_in_the_worktree_of_its_task_and_so_does_its_heir(make_yard: MakeYard) -> None:
    yard = make_yard(agents=("codex", "claude-code"), worktrees=True)
    yard.up()
    task = yard.task()
    heir = yard.agents["claude-code"].agent.id
    first = logs_in(yard.script(name="first")).write("page.html", "<h1>")
    first = reports(of_session(first, "create_handoff", to_agent_id=heir, summary="go on"))
    second = reports(logs_in(yard.script(name="second")).edit("page.html", "<h1>", "<h2>"))
    for client, script in (("codex", first), ("claude-code", second)):
        keys = {client: yard.agents[client].passkey}
        yard.runner(f"runner-{client}", plays={client: script}, passkeys=keys).spawn()

    yard.until_records("end", 2)
    place = yard.project_folder / ".kumi" / "worktrees" / f"task-{task.number}"
    assert [Path(record["cwd"]) for record in yard.records("start")] == [place, place]
    told = [json.loads(record["answer"])["task"] for record in yard.records("mcp") if record["tool"] == "get_my_task"]
    assert [Path(one["working_directory"]) for one in told] == [place, place]
    assert (place / "page.html").read_text() == "<h2>"
    assert not (yard.project_folder / "page.html").exists()
    ended = yard.until_instances(lambda found: [one.state for one in found] == ["exited", "exited"])
    assert [Path(one.working_directory) for one in ended] == [place, place]
    assert len({one.branch for one in ended}) == 1


def test_what_an_instance_says_is_done_is_done_when_its_branch_is_merged(make_yard: MakeYard) -> None:
    yard = make_yard(worktrees=True)
    yard.up()
    task = yard.task()
    commit = "git add . && git -c user.name=Agent -c user.email=agent@example.com commit -q -m 'Write the page'"
    play = reports(logs_in(yard.script()).write("page.html", "<h1>").shell(commit))
    runner = yard.runner(play=play)
    assert runner.spawn("--once").wait(60) == 0
    until(lambda: not yard.board.executions.list(task_id=task.id).items[0].unverified)
    assert yard.show(task).status == "in_progress"
    assert yard.board.instances.startable_pairs() == []
    assert runner.spawn("--once").wait(60) == 0
    assert len(yard.records("start")) == 1

    (result,) = Merger(yard.board, yard.settings).merge_all(Place(yard.project.id), [task.number])

    assert result.status == "merged"
    assert yard.show(task).status == "done"
    assert (yard.project_folder / "page.html").read_text() == "<h1>"


def test_a_project_that_is_no_repository_any_more_is_told_as_such(make_yard: MakeYard) -> None:
    yard = make_yard(worktrees=True)
    yard.up()
    (yard.project_folder / ".git").rename(yard.folder / "gone")
    task = yard.task()
    runner = yard.runner(play=reports(logs_in(yard.script())))
    assert runner.spawn("--once").wait(60) == 0
    (told,) = runner.events("unstartable")
    assert "git" in told["reason"]
    assert yard.show(task).status == "in_progress"
    assert yard.records("start") == []
    assert [one.state for one in yard.instances()] == ["exited"]
