"""Sessions: the command that is given runs the agent for whoever pastes it, and the session has the true end."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from kumihimo.domain.errors import AgentNotFound, InvalidValue, SessionAlreadyRunning, WorktreeHeld
from kumihimo.domain.execution import Execution
from kumihimo.engine.agents.client import TOKEN_VARIABLE
from kumihimo.services.commands import session_command
from kumihimo.services.workers import Request
from kumihimo.settings import Flags, load
from kumihimo.testing import scripts
from kumihimo.testing.clock import FakeClock
from tests.lead.shop import until
from tests.mcp.client import RpcRefusal
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop, committing, kill


def exec_pid(workshop: Workshop, run: Execution) -> int:
    """The process of `kumi session exec` of a session."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"exec" in words and run.id.encode() in words and b"-c" not in words:
                return int(entry.name)
    raise AssertionError("it does not run")


def at_work(workshop: Workshop, there: Path) -> None:
    until(there.exists)


@pytest.mark.parametrize("auto", [True, False], ids=["auto", "interactive"])
@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini-cli"])
def test_the_command_works_in_anybodys_plain_shell_and_closes_its_session_with_the_exit_code(
    workshop: Workshop, client: str, auto: bool
) -> None:
    path = f"paste/{client}-{auto}"
    number = workshop.task(workshop.writes(path))
    command, run = workshop.session(number, client=client, auto=auto)
    assert (workshop.show(run).status, workshop.see(number).status) == ("queued", "in_progress")

    assert workshop.pasted(command) == 0

    ended = workshop.over(run)
    assert (ended.status, ended.exit_code, ended.signal) == ("completed", 0, None)
    assert workshop.see(number).status == "in_progress"
    assert (workshop.folder_of(run) / path).is_file()
    assert workshop.merge(number)[0].status == "merged"
    assert workshop.see(number).status == "done"


@pytest.mark.parametrize("auto", [True, False], ids=["auto", "interactive"])
def test_a_session_that_fails_has_its_exit_code_and_blocks_its_task(workshop: Workshop, auto: bool) -> None:
    number = workshop.task(workshop.script().say("no").exit(3))
    command, run = workshop.session(number, auto=auto)
    assert workshop.pasted(command) == 3
    ended = workshop.over(run)
    assert (ended.status, ended.exit_code, ended.signal) == ("failed", 3, None)
    assert workshop.see(number).status == "blocked"


@pytest.mark.parametrize("auto", [True, False], ids=["auto", "interactive"])
def test_a_session_whose_agent_is_killed_has_the_signal(workshop: Workshop, auto: bool) -> None:
    number = workshop.task(workshop.script().say("about to die").die("KILL"))
    command, run = workshop.session(number, auto=auto)
    assert workshop.pasted(command) == 128 + signal.SIGKILL
    ended = workshop.over(run)
    assert (ended.status, ended.exit_code, ended.signal) == ("failed", 137, "SIGKILL")
    assert workshop.see(number).status == "blocked"


def test_the_agent_is_found_where_who_asked_had_it_on_the_path(
    open_workshop: OpenWorkshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    opened = open_workshop(up=False)
    words = " ".join(f"'{word}'" for word in scripts.command("qwen-code", log=opened.log))
    (programs / "qwen").write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    (programs / "qwen").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    number = opened.task(opened.writes("a"))
    command, run = opened.session(number, client="qwen-code", auto=True)
    assert opened.pasted(command) == 0
    assert opened.over(run).exit_code == 0


def test_an_agent_that_is_not_there_is_a_session_that_could_not_start(workshop: Workshop) -> None:
    number = workshop.task(workshop.script())
    command, run = workshop.session(number, client="opencode")
    assert workshop.pasted(command) == 126
    ended = workshop.over(run)
    assert (ended.status, ended.exit_code) == ("failed", 126)
    assert "opencode" in (workshop.see(number).status_reason or "")


def test_who_asks_again_gets_the_same_session_and_command(workshop: Workshop) -> None:
    number = workshop.task(workshop.script())
    command, run = workshop.session(number)
    again, same = workshop.session(number)
    assert (again, same.id, same.number) == (command, run.id, run.number)
    terminal = workshop.kumi("worker", "run", str(number))
    editor = workshop.editor().call("worker_command", taskId=number).data
    assert terminal == editor
    assert (editor["sessionId"], editor["command"], editor["worktree"]) == (run.number, command, run.worktree)
    assert editor["task"] == {"id": number, "title": "work", "branch": run.branch}
    assert (editor["client"], editor["agent"]) == ("claude-code", "coder")
    assert workshop.worktree_names().count(f"task-{number}") == 1


def test_who_asks_again_for_something_else_gets_that(workshop: Workshop) -> None:
    number = workshop.task(workshop.script())
    second = workshop.board.agents.add("second").agent
    workshop.board.projects.assign(workshop.project.id, second)
    _, run = workshop.session(number)
    editor = workshop.editor()
    wanted = editor.call("worker_command", taskId=number, client="codex", auto=True).data
    assert (wanted["sessionId"], wanted["client"]) == (run.number, "codex")
    assert (workshop.show(run).client, workshop.show(run).auto) == ("codex", True)
    # Whoever does not ask for it is asked for every approval, and nobody changes its client by saying nothing of it.
    assert editor.call("worker_command", taskId=number)["client"] == "codex"
    assert not workshop.show(run).auto
    other = editor.call("worker_command", taskId=number, agent="second").data
    assert other["agent"] == "second"
    assert other["sessionId"] != run.number
    assert (workshop.show(run).status, workshop.see(number).assignee_id) == ("cancelled", second.id)
    for strange in ({"agent": "nobody"}, {"client": "nonsense"}):
        with pytest.raises(RpcRefusal):
            editor.call("worker_command", taskId=number, **strange)
    assert editor.call("worker_command", taskId=number).data == other


def test_a_command_that_is_pasted_twice_is_refused_the_second_time(workshop: Workshop) -> None:
    gate, there = workshop.gate(), workshop.gate()
    number = workshop.task(workshop.script("once").touch(there).wait(gate))
    command, run = workshop.session(number)
    first = workshop.paste(command)
    at_work(workshop, there)
    assert workshop.pasted(command) == 6
    with pytest.raises(RpcRefusal) as refusal:
        workshop.editor().call("worker_command", taskId=number)
    assert (refusal.value.code, refusal.value.data["code"]) == (-32005, "SessionAlreadyRunning")
    gate.touch()
    first.communicate(timeout=60)
    assert workshop.over(run).exit_code == 0
    assert workshop.pasted(command) == 6
    assert len(workshop.records("start", "once")) == 1


def test_what_is_refused_leaves_no_session_no_worktree_and_the_task_as_it_was(workshop: Workshop) -> None:
    number = workshop.task(workshop.script())
    before = workshop.board.store.newest_cursor()
    with pytest.raises(AgentNotFound):
        workshop.session(number, agent="nobody")
    with pytest.raises(InvalidValue):
        workshop.session(number, client="nonsense")
    assert workshop.board.store.newest_cursor() == before
    assert f"task-{number}" not in workshop.worktree_names()


def test_a_session_is_not_given_while_the_last_one_is_looked_at_and_nothing_changes_by_asking(
    workshop: Workshop,
) -> None:
    gate, trace = workshop.gate(), workshop.gate()
    dod = [f"touch {trace}; while [ ! -e {gate} ]; do sleep 0.05; done"]
    number = workshop.task(workshop.writes("looked/a"), dod=dod)
    run = workshop.worker(number)
    until(trace.exists)
    before = workshop.board.store.newest_cursor()
    with pytest.raises(WorktreeHeld):
        workshop.session(number)
    assert workshop.board.store.newest_cursor() == before
    gate.touch()
    assert workshop.over(run).dod_result == "pending"
    assert workshop.session(number)[1].worktree == run.worktree


def test_a_session_that_nobody_begins_ends_after_a_day_and_another_can_be_had(open_workshop: OpenWorkshop) -> None:
    opened = open_workshop(up=False)
    clock = FakeClock()
    for service in vars(opened.board).values():
        if hasattr(service, "clock"):
            service.clock = clock
    number = opened.task()
    _, run = opened.session(number)
    clock.advance(hours=23, minutes=59)
    assert opened.board.workers.expire_unused() == 0
    assert opened.session(number)[1].id == run.id
    clock.advance(minutes=2)
    assert opened.board.workers.expire_unused() == 1
    ended = opened.show(run)
    assert (ended.status, ended.unverified) == ("cancelled", False)
    with pytest.raises(SessionAlreadyRunning):
        opened.board.workers.begin(opened.place, run.id, None)
    _, other = opened.session(number)
    assert other.id != run.id
    # Also where nobody has tidied up: one of yesterday is not given again.
    clock.advance(days=1, minutes=1)
    assert opened.session(number)[1].id != other.id


def test_the_command_does_not_say_where_the_board_is_where_the_settings_do(open_workshop: OpenWorkshop) -> None:
    opened = open_workshop(up=False)
    worker = opened.board.workers.view(opened.session(opened.task())[1].id)
    assert "--db" not in session_command(opened.settings, worker)
    (opened.home / "config.toml").write_text('db = "postgresql://kumi:secret@db.example/kumi"\n')
    elsewhere = load(Flags(), {"KUMI_HOME": str(opened.home)}, opened.folder)
    assert "secret" not in session_command(elsewhere, worker)
    assert "--db /another.db " in session_command(replace(elsewhere, database="/another.db"), worker)


def test_a_worker_whose_place_nobody_is_making_any_more_is_over_and_its_task_waits(open_workshop: OpenWorkshop) -> None:
    opened = open_workshop(up=False)
    clock = FakeClock()
    for service in vars(opened.board).values():
        if hasattr(service, "clock"):
            service.clock = clock
    number = opened.task()
    run = opened.board.workers.open(opened.place, Request(number, "worker")).execution
    clock.advance(minutes=29)
    assert opened.board.workers.expire_unused() == 0
    clock.advance(minutes=2)
    assert opened.board.workers.expire_unused() == 1
    assert opened.show(run).status == "cancelled"
    assert opened.see(number).status == "blocked"


def test_stop_ends_a_session_that_runs_in_a_shell_with_everything_it_started(workshop: Workshop) -> None:
    there = workshop.gate()
    number = workshop.task(workshop.script("stopped").daemon(ignore_term=True).touch(there).hang())
    command, run = workshop.session(number)
    started = workshop.paste(command)
    at_work(workshop, there)
    answer = workshop.kumi("worker", "stop", str(number))
    assert answer["status"] in ("failed", "cancelled")
    started.communicate(timeout=60)
    assert started.returncode == 128 + signal.SIGTERM
    assert workshop.see(number).status == "blocked"
    (daemon,) = workshop.records("daemon", "stopped")
    until(lambda: not scripts.is_alive(daemon))
    assert not workshop.over(run).live


@pytest.mark.parametrize("auto", [True, False], ids=["auto", "interactive"])
def test_a_stopped_session_blocks_its_task_also_where_the_agent_ends_well(workshop: Workshop, auto: bool) -> None:
    there = workshop.gate()
    number = workshop.task(workshop.script().trap_term(code=0).touch(there).hang())
    command, run = workshop.session(number, auto=auto)
    started = workshop.paste(command)
    at_work(workshop, there)
    workshop.kumi("worker", "stop", str(number))
    started.communicate(timeout=60)
    ended = workshop.over(run)
    assert (ended.status, ended.exit_code) == ("cancelled", 0)
    assert workshop.see(number).status == "blocked"


def test_stop_takes_back_a_session_that_was_not_begun(workshop: Workshop) -> None:
    number = workshop.task()
    command, run = workshop.session(number)
    assert workshop.kumi("worker", "stop", str(number))["status"] == "cancelled"
    assert workshop.see(number).status == "blocked"
    assert workshop.pasted(command) == 6
    # Nothing was done in it, so nobody has to look before the next one begins.
    assert workshop.session(number)[1].id != run.id


@pytest.mark.parametrize(("end", "code", "status"), [(0, 0, "completed"), (3, 3, "failed")])
def test_where_the_shell_of_a_session_is_killed_the_supervisor_closes_it_with_the_true_exit_code(
    workshop: Workshop, end: int, code: int, status: str
) -> None:
    gate, there = workshop.gate(), workshop.gate()
    number = workshop.task(committing(workshop.script().write(f"killed/{end}", "a")).touch(there).wait(gate).exit(end))
    command, run = workshop.session(number)
    started = workshop.paste(command, stdout=subprocess.DEVNULL)
    at_work(workshop, there)
    kill(exec_pid(workshop, run))
    started.communicate(timeout=60)
    assert workshop.show(run).status == "running"
    gate.touch()
    ended = workshop.over(run)
    assert (ended.status, ended.exit_code) == (status, code)
    assert workshop.see(number).status == ("in_progress" if code == 0 else "blocked")
    assert workshop.proof(run).exit_code == code


def test_a_session_whose_shell_was_killed_can_be_stopped(workshop: Workshop) -> None:
    there = workshop.gate()
    number = workshop.task(workshop.script("orphan").touch(there).hang())
    command, run = workshop.session(number)
    started = workshop.paste(command, stdout=subprocess.DEVNULL)
    at_work(workshop, there)
    kill(exec_pid(workshop, run))
    started.communicate(timeout=60)
    assert workshop.kumi("worker", "stop", str(number))["status"] == "cancelled"
    ended = workshop.over(run)
    assert (ended.exit_code, ended.signal) == (137, "SIGKILL")
    assert workshop.see(number).status == "blocked"
    assert not any(scripts.is_alive(record) for record in workshop.records("start", "orphan"))


def test_where_nobody_can_tell_who_had_started_a_session_it_is_closed_after_a_while(workshop: Workshop) -> None:
    gate, there = workshop.gate(), workshop.gate()
    number = workshop.task(workshop.script().touch(there).wait(gate).exit(5))
    command, run = workshop.session(number)
    started = workshop.paste(command, stdout=subprocess.DEVNULL)
    at_work(workshop, there)
    (workshop.home / "runs" / run.id / "attendant").unlink()
    kill(exec_pid(workshop, run))
    started.communicate(timeout=60)
    gate.touch()
    exit_file = workshop.home / "runs" / run.id / "exit"
    until(exit_file.exists)
    # As if it had ended long ago.
    os.utime(exit_file, (1, 1))
    assert workshop.over(run).exit_code == 5


def test_a_shell_that_is_told_to_end_hands_it_on_to_its_agent(workshop: Workshop) -> None:
    there = workshop.gate()
    number = workshop.task(workshop.script("told").touch(there).hang())
    command, run = workshop.session(number)
    started = workshop.paste(command)
    at_work(workshop, there)
    os.kill(exec_pid(workshop, run), signal.SIGTERM)
    started.communicate(timeout=60)
    ended = workshop.over(run)
    assert (ended.exit_code, ended.signal) == (143, "SIGTERM")
    assert not any(scripts.is_alive(record) for record in workshop.records("start", "told"))


def test_an_agent_in_a_shell_reaches_our_tools_and_its_report_is_kept(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("told/a").report_result("success", "I wrote a file."))
    command, run = workshop.session(number, auto=True)
    assert workshop.pasted(command) == 0
    report = workshop.over(run).report
    assert report is not None
    assert (report.status, report.summary) == ("success", "I wrote a file.")


def test_neither_a_token_nor_what_the_agent_is_told_is_part_of_the_command(workshop: Workshop) -> None:
    command, _ = workshop.session(workshop.task("Keep this to yourself."))
    assert "yourself" not in command
    assert TOKEN_VARIABLE not in command
