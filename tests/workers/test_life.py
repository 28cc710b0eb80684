"""The whole life of a task: by terminal alone, and by an editor's tools alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.lead.shop import BOUND_SECONDS, until
from tests.mcp.client import RpcRefusal
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop


def test_by_terminal_alone_a_repository_becomes_a_project_and_a_task_is_done_in_it(open_workshop: OpenWorkshop) -> None:
    opened = open_workshop(up=False)
    folder = opened.folder.parent / "fresh"
    folder.mkdir()
    for words in (["init", "-q", "-b", "trunk"], ["config", "user.name", "T"], ["config", "user.email", "t@e.com"]):
        opened.git(*words, folder=folder)
    opened.commit("README.md", "fresh\n", folder=folder)

    def kumi(*words: str, code: int = 0) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "kumihimo", *words, "--json"], cwd=folder, env=opened.environment,
            capture_output=True, text=True, check=False, timeout=BOUND_SECONDS,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return msgspec.json.decode(done.stdout) if done.stdout else None

    kumi("init")
    assert opened.git("status", "--porcelain", folder=folder) in ("", "?? kumi.toml")
    script = opened.writes("made/a")
    task = kumi(
        "task", "add", "Make it", "--description", script.prompt(), "--dod", "test -f made/a", "--write", "made/**"
    )
    number = str(task["id"])
    assert kumi("worker", "ls")["sessions"] == []

    ended = kumi("worker", "run", number, "--exec")
    assert (ended["status"], ended["exitCode"], ended["timedOut"]) == ("completed", 0, False)
    assert kumi("worker", "wait", number)["dodResult"] == "pending"
    assert kumi("task", "show", number)["status"] == "in_progress"
    (place,) = kumi("worktree", "ls")["worktrees"]
    assert (place["state"], place["ahead"]) == ("unmerged", 1)
    assert [removal["removed"] for removal in kumi("worktree", "gc")["worktrees"]] == [False]

    merged = kumi("merge", number)["merges"][0]
    assert (merged["status"], merged["target"], merged["taskStatus"]) == ("merged", "trunk", "done")
    assert kumi("task", "show", number)["status"] == "done"
    assert opened.git("show", "trunk:made/a", folder=folder) == "text"
    assert [removal["removed"] for removal in kumi("worktree", "gc", "--dry-run")["worktrees"]] == [True]
    assert Path(place["path"]).is_dir()
    assert [removal["removed"] for removal in kumi("worktree", "gc")["worktrees"]] == [True]
    assert kumi("worktree", "ls")["worktrees"] == []
    assert not Path(place["path"]).exists()

    # Who is done is not begun again.
    assert kumi("worker", "run", number, "--detach", code=6) is None


def test_a_worker_that_is_stopped_leaves_its_task_blocked_and_can_be_started_anew_where_it_was(
    workshop: Workshop,
) -> None:
    gate, there = workshop.gate(), workshop.gate()
    script = workshop.script("stopped").write("stop/a", "half\n").touch(there).wait(gate)
    number = workshop.task(script.shell("git add -A && git commit -q -m whole"))
    begun = workshop.kumi("worker", "run", str(number), "--detach")
    while not there.exists():
        assert workshop.see(number).status == "in_progress"
    assert [one["task"] for one in workshop.kumi("worker", "ls")["sessions"]] == [number]
    assert workshop.kumi("worker", "wait", str(number), "--timeout", "0.1", code=1)["timedOut"]
    stopped = workshop.kumi("worker", "stop", str(number))
    assert (stopped["id"], stopped["status"]) == (begun["id"], "cancelled")
    assert workshop.see(number).status == "blocked"
    first = workshop.over(workshop.board.work_sessions.latest(workshop.place, number).execution)
    gate.touch()
    # What it has written is still there, and the next one goes on from it.
    again = workshop.work(number)
    assert again.id != first.id
    assert (again.status, again.worktree) == ("completed", first.worktree)
    assert workshop.merge(number)[0].status == "merged"
    assert workshop.on_main("stop/a") == "half"


def test_a_worker_that_is_followed_here_is_not_called_over_while_its_agent_works(workshop: Workshop) -> None:
    gate, there = workshop.gate(), workshop.gate()
    number = workshop.task(workshop.script("followed").touch(there).wait(gate).exit(3))
    run = workshop.worker(number)
    until(there.exists)
    with pytest.raises(RpcRefusal) as refusal:
        workshop.editor().call("session_end", sessionId=run.number, exitCode=0)
    assert (refusal.value.code, refusal.value.data["code"]) == (-32004, "InvalidStatus")
    assert f"kumi worker stop {number}" in str(refusal.value)
    gate.touch()
    assert (workshop.over(run).status, workshop.over(run).exit_code) == ("failed", 3)


@pytest.mark.parametrize("tidied", [False, True], ids=["deleted", "deleted and tidied up"])
def test_work_whose_folder_was_deleted_is_merged_from_its_branch(workshop: Workshop, tidied: bool) -> None:
    path = f"kept/{tidied}"
    number = workshop.task(workshop.writes(path))
    run = workshop.work(number)
    shutil.rmtree(workshop.folder_of(run))
    if tidied:
        workshop.kumi("worktree", "gc")
    assert workshop.merge(number)[0].status == "merged"
    assert workshop.on_main(path) == "text"
    assert workshop.see(number).status == "done"


def test_a_worktree_that_was_removed_with_work_in_it_can_be_had_back(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("back/a").write("back/loose", "not committed\n"))
    run = workshop.work(number)
    place = workshop.folder_of(run)
    removal = workshop.worktrees.remove(f"task-{number}", "main", live=lambda _: False)
    assert removal.removed
    assert not place.exists()
    workshop.kumi("worktree", "restore", str(number))
    assert (place / "back/loose").read_text() == "not committed\n"
    assert workshop.head(folder=place) == workshop.proof(run).head


def test_by_an_editors_tools_alone_a_task_is_made_worked_on_and_merged(workshop: Workshop) -> None:
    editor = workshop.editor()
    script = workshop.writes("editor/a")
    number = editor.call("task_create", title="Make it", description=script.prompt(), assignee="tester")["id"]
    commanded = editor.call("worker_command", taskId=number, auto=True)
    assert set(commanded.data) == {"command", "client", "worktree", "sessionId", "agent", "task"}
    assert (commanded["client"], commanded["agent"]) == ("codex", "tester")
    session = commanded["sessionId"]
    (listed,) = editor.call("session_list", taskId=number)["sessions"]
    assert (listed["id"], listed["status"]) == (session, "queued")
    assert editor.call("task_get", id=number)["status"] == "in_progress"

    assert workshop.pasted(commanded["command"]) == 0

    (listed,) = editor.call("session_list", taskId=number)["sessions"]
    assert (listed["status"], listed["exitCode"]) == ("completed", 0)
    ended = editor.call("session_end", sessionId=session, exitCode=0, dodResult="merged")
    assert ended["dodResult"] == "merged"
    assert editor.call("task_get", id=number)["status"] == "done"
    assert workshop.on_main("editor/a") == "text"
    # Said again it is still so; said otherwise it is refused.
    assert editor.call("session_end", sessionId=session, exitCode=0, dodResult="merged")["dodResult"] == "merged"
    with pytest.raises(RpcRefusal) as refusal:
        editor.call("session_end", sessionId=session, exitCode=1)
    assert refusal.value.data["code"] == "InvalidStatus"
    assert editor.call("task_get", id=number)["status"] == "done"


def test_merged_is_a_wish_and_the_facts_decide(workshop: Workshop) -> None:
    editor = workshop.editor()
    failing = workshop.task(workshop.writes("wish/a"), dod=["exit 3"])
    clashing = workshop.task(workshop.writes("wish/b", "mine\n"))
    empty = workshop.task(workshop.script().say("done"))
    for number, expected in ((failing, "blocked"), (clashing, "blocked"), (empty, "in_progress")):
        commanded = editor.call("worker_command", taskId=number)
        assert workshop.pasted(commanded["command"]) == 0
        if number == clashing:
            workshop.commit("wish/b", "theirs\n")
        before = workshop.head("main")
        if number == empty:
            with pytest.raises(RpcRefusal):
                editor.call("session_end", sessionId=commanded["sessionId"], exitCode=0, dodResult="merged")
        else:
            ended = editor.call("session_end", sessionId=commanded["sessionId"], exitCode=0, dodResult="merged")
            assert ended["dodResult"] == "error"
        assert (workshop.see(number).status, workshop.head("main")) == (expected, before)


def test_a_session_whose_end_is_told_before_it_has_ended_keeps_what_was_told(workshop: Workshop) -> None:
    gate, there = workshop.gate(), workshop.gate()
    number = workshop.task(workshop.script().touch(there).wait(gate).exit(3))
    command, run = workshop.session(number)
    started = workshop.paste(command)
    while not there.exists():
        assert started.poll() is None
    workshop.kumi("session", "end", str(run.number), "--exit-code", "0")
    gate.touch()
    started.communicate(timeout=BOUND_SECONDS)
    # The shell has the agent's own exit code all the same.
    assert started.returncode == 3
    assert workshop.over(run).exit_code == 0
