"""Groups and runs from the terminal: agents are started, followed, stopped and gone on from, and a lead sees the same."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kumihimo.services.hosting import find_running
from kumihimo.testing import scripts
from kumihimo.testing.scripts import Script
from tests.cli.conftest import Kumi, Result
from tests.lead.shop import MISSING_GROUP, MISSING_RUN, Lead, free_port, until

LOG = "agents.jsonl"


class Terminal:
    """A command line in a project whose agents are scripted."""

    def __init__(self, kumi: Kumi, home: Path, folder: Path) -> None:
        self._kumi = kumi
        self.home = home
        self.folder = folder
        self.log = folder.parent / LOG

    def __call__(self, *words: object, code: int = 0) -> Result:
        result = self._kumi(*words)
        assert result.code == code, result.err
        return result

    def json(self, *words: object, code: int = 0) -> Any:
        return self(*words, "--json", code=code).json

    def group(self, mode: str = "concurrent") -> str:
        return self.json("group", "create", "A test", "--mode", mode)["groupId"]

    def run(self, group: str, *wanted: Script) -> list[str]:
        words = [word for script in wanted for word in ("--role", "coder", "--prompt", script.prompt())]
        return [agent["agentId"] for agent in self.json("group", "run", group, *words)["agents"]]

    def script(self, name: str | None = None, **about: Any) -> Script:
        return Script(name, log=self.log, **about)

    def started(self, name: str) -> None:
        until(lambda: scripts.records(self.log, "start", name))

    def gate(self, name: str) -> Path:
        return self.folder.parent / name

    def lead(self) -> Lead:
        return Lead(self.home, self.folder, "lead")


@pytest.fixture
def terminal(kumi: Kumi, home: Path, tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(kumi, home, tmp_path / "shop")
    made("init")
    lines = ['admission = "slots"']
    for client in ("claude-code", "codex"):
        lines += [f"[clients.{client}]", f"command = {json.dumps(scripts.command(client, log=made.log))}"]
    (home / "config.toml").write_text("\n".join([*lines, ""]))
    (home / "port").write_text(str(free_port()))
    yield made
    host = find_running(home)
    if host is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(host.process.pid, signal.SIGTERM)
        until(lambda: not host.alive)
    scripts.kill_leftovers(made.log)


def test_a_group_is_created_run_waited_for_shown_and_deleted(terminal: Terminal) -> None:
    group = terminal.group()
    runs = terminal.run(group, terminal.script().say("One."), terminal.script().say("Two."))
    waited = terminal.json("group", "wait", group)
    assert [done["agentId"] for done in waited["completed"]] == runs
    assert (waited["pending"], waited["timedOut"]) == ([], False)
    shown = terminal.json("group", "show", group)
    assert [agent["agentId"] for agent in shown["agents"]] == runs
    assert (shown["groupId"], shown["status"], shown["total"]) == (group, "active", 2)
    assert terminal.json("group", "delete", group) == {"deleted": True, "groupId": group}
    assert terminal.json("group", "show", group)["status"] == "deleted"
    assert [one["groupId"] for one in terminal.json("group", "ls")["groups"]] == [group]
    assert terminal("group", "delete", group, code=5).err


def test_one_prompt_goes_to_every_role_and_the_command_waits_where_asked(terminal: Terminal) -> None:
    plan = terminal.gate("plan.md")
    plan.write_text(terminal.script().say("Done as told.").prompt())
    group = terminal.group()
    words = ("--role", "coder", "--role", "reviewer", "--prompt", f"@{plan}", "--wait")
    waited = terminal.json("group", "run", group, *words)
    assert [done["status"] for done in waited["completed"]] == ["completed", "completed"]
    roles = [agent["role"] for agent in terminal.json("group", "show", group)["agents"]]
    assert roles == ["coder", "reviewer"]
    assert "completed" in terminal("group", "wait", group).out


def test_prompts_that_do_not_match_the_roles_are_a_bad_argument(terminal: Terminal) -> None:
    words = ("--role", "coder", "--role", "writer", "--role", "planner", "--prompt", "a", "--prompt", "b")
    assert terminal("group", "run", terminal.group(), *words, code=2).err


def test_a_plan_from_a_file_runs_stage_by_stage(terminal: Terminal) -> None:
    plan = terminal.gate("plan.json")
    stages = [
        {"tasks": [{"role": "coder", "prompt": terminal.script("a").report_result(summary="Laid out.").prompt()}]},
        {"tasks": [{"role": "writer", "prompt": terminal.script("b").prompt()}]},
    ]
    for told in ({"stages": stages}, stages):
        plan.write_text(json.dumps(told))
        group = terminal.group("sequential")
        waited = terminal.json("group", "sequential", group, plan, "--wait")
        assert [done["status"] for done in waited["completed"]] == ["resultReported", "completed"]
    assert terminal.json("group", "show", group)["currentStageIndex"] == 1
    assert "Laid out." in scripts.records(terminal.log, "start", "b")[0]["prompt"]
    assert terminal("group", "sequential", group, plan, code=6).err


@pytest.mark.parametrize("plan", ["5", '"x"', "null", "{", "[1]"])
def test_a_plan_that_is_none_is_a_bad_argument(terminal: Terminal, plan: str) -> None:
    (terminal.folder / "plan.json").write_text(plan)
    refused = terminal("group", "sequential", terminal.group("sequential"), "plan.json", code=2)
    assert "Kumihimo itself" not in refused.err
    assert find_running(terminal.home) is None


def test_a_plan_that_stops_after_a_failure_fails_the_command(terminal: Terminal) -> None:
    plan = terminal.gate("plan.json")
    tasks = [[terminal.script().failure()], [terminal.script("never")]]
    stages = [{"tasks": [{"role": "coder", "prompt": one.prompt()} for one in stage]} for stage in tasks]
    plan.write_text(json.dumps({"stages": stages}))
    words = ("group", "sequential", terminal.group("sequential"), plan, "--on-failure", "stop", "--wait")
    waited = terminal.json(*words, code=1)
    assert [done["status"] for done in waited["completed"]] == ["failed", "cancelled"]
    plan.write_text("{")
    assert terminal("group", "sequential", terminal.group("sequential"), plan, code=2).err


def test_a_wait_that_takes_too_long_fails_the_command(terminal: Terminal) -> None:
    gate, group = terminal.gate("gate"), terminal.group()
    (run,) = terminal.run(group, terminal.script().wait(gate))
    waited = terminal.json("group", "wait", group, "--timeout", "0.05", code=1)
    assert (waited["timedOut"], [one["agentId"] for one in waited["pending"]]) == (True, [run])
    gate.touch()
    terminal("group", "wait", group)


def test_runs_are_listed_and_shown_as_a_lead_sees_them(terminal: Terminal) -> None:
    group = terminal.group()
    good, bad = terminal.run(group, terminal.script().report_result(summary="Well."), terminal.script().failure())
    terminal("group", "wait", group, code=1)
    until(lambda: all(terminal.json("run", "show", run)["endedAt"] for run in (good, bad)))
    with terminal.lead() as lead:
        for run in (good, bad):
            assert terminal.json("run", "show", run) == lead.status(run)
        assert terminal.json("group", "wait", group, code=1) == lead.wait(good, bad)
        listed = lead.call("list_agents", groupId=group)["agents"]
        assert terminal.json("run", "ls", "--group", group)["agents"] == listed
        assert terminal.json("group", "show", group)["agents"] == listed
        failed = lead.call("list_agents", groupId=group, status="failed")["agents"]
        assert terminal.json("run", "ls", "--group", group, "--status", "failed")["agents"] == failed
        roles = lead.call("list_roles")["roles"]
    assert [agent["agentId"] for agent in failed] == [bad]
    assert {role["id"] for role in roles} == {"planner", "coder", "reviewer", "writer"}
    # The beginning of an id is enough.
    assert terminal.json("run", "show", good[:-2])["agentId"] == good


def test_what_an_agent_printed_is_shown_whole_and_line_by_line(terminal: Terminal) -> None:
    group = terminal.group()
    (run,) = terminal.run(group, terminal.script().lines(30))
    terminal("group", "wait", group)
    with terminal.lead() as lead:
        lines = lead.call("get_agent_output", agentId=run)["lines"]
    assert terminal("run", "logs", run).out.splitlines() == lines
    told = [json.loads(line) for line in terminal("run", "logs", run, "--json").out.splitlines()]
    assert [one["line"] for one in told] == lines
    assert sum("line " in line for line in lines) >= 30


def test_a_log_is_followed_to_the_end_of_the_run(terminal: Terminal) -> None:
    gate, group = terminal.gate("gate"), terminal.group()
    (run,) = terminal.run(group, terminal.script("told").say("before").wait(gate).say("after"))
    terminal.started("told")
    following = subprocess.Popen(
        [sys.executable, "-m", "kumihimo", "run", "logs", "-f", run],
        stdout=subprocess.PIPE,
        text=True,
        cwd=terminal.folder,
    )
    assert following.stdout is not None
    with following.stdout as lines:
        assert any("before" in line for line in lines)
        gate.touch()
        assert any("after" in line for line in lines)
        lines.read()
    assert following.wait(60) == 0


def test_a_run_is_stopped_with_everything_that_it_started(terminal: Terminal) -> None:
    group = terminal.group()
    (run,) = terminal.run(group, terminal.script("stopped").child().touch(terminal.gate("ready")).hang())
    until(terminal.gate("ready").exists)
    assert terminal.json("run", "stop", run) == {"cancelled": True, "agentId": run, "survivors": []}
    left = [one for one in scripts.records(terminal.log, name="stopped") if one["event"] in ("start", "child")]
    assert len(left) == 2
    assert not [one for one in left if scripts.is_alive(one)]
    assert terminal.json("run", "show", run)["status"] == "cancelled"
    terminal("group", "wait", group, code=1)


def test_a_run_is_done_again_and_gone_on_from(terminal: Terminal) -> None:
    group = terminal.group()
    (run,) = terminal.run(group, terminal.script("again", session="11111111-2222-4333-8444-555555555555").say("First."))
    terminal("group", "wait", group)
    retried = terminal.json("run", "retry", run)
    more = terminal.json("run", "continue", run, terminal.script("more").say("And on.").prompt())
    terminal("group", "wait", group)
    assert terminal.json("run", "show", retried["agentId"])["continues"] == run
    assert terminal.json("run", "show", more["agentId"])["lastAssistantMessage"] == "And on."
    assert len(scripts.records(terminal.log, "start", "again")) == 2
    (resumed,) = scripts.records(terminal.log, "start", "more")
    assert resumed["session"] == scripts.records(terminal.log, "start", "again")[0]["session"]


def test_a_run_that_goes_on_is_in_the_wrong_state_for_another(terminal: Terminal) -> None:
    gate, group = terminal.gate("gate"), terminal.group()
    (run,) = terminal.run(group, terminal.script("busy").wait(gate))
    for words in (("run", "retry", run), ("run", "continue", run, "more"), ("group", "delete", group)):
        assert terminal(*words, code=6).err
    assert terminal("group", "sequential", group, "-", code=2).err
    gate.touch()
    terminal("group", "wait", group)
    terminal("group", "delete", group)
    assert terminal("group", "run", group, "--role", "coder", "--prompt", "x", code=6).err


@pytest.mark.parametrize(
    "words",
    [
        ("group", "show", MISSING_GROUP), ("group", "wait", MISSING_GROUP), ("group", "delete", MISSING_GROUP),
        ("group", "run", MISSING_GROUP, "--role", "coder", "--prompt", "x"), ("run", "ls", "--group", MISSING_GROUP),
        ("run", "show", MISSING_RUN), ("run", "logs", MISSING_RUN), ("run", "stop", MISSING_RUN),
        ("agent", "check", "nobody"), ("run", "retry", MISSING_RUN),
        ("run", "continue", MISSING_RUN, "x"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_found_and_nothing_is_started_for_it(
    terminal: Terminal, words: tuple[str, ...]
) -> None:
    assert terminal(*words, code=5).err
    assert find_running(terminal.home) is None


def test_an_agent_is_checked_by_asking_it_something(terminal: Terminal) -> None:
    answer = terminal.json("agent", "check", "coder")
    (role,) = answer["roles"]
    assert (role["id"], role["available"], role["healthCheck"]["status"]) == ("coder", True, "passed")
    assert {one["id"] for one in terminal.json("agent", "check")["roles"]} == {"planner", "coder", "reviewer", "writer"}
    with terminal.lead() as lead:
        (checked,) = terminal.json("agent", "check", "coder")["roles"]
        (seen,) = (one for one in lead.call("list_roles")["roles"] if one["id"] == "coder")
    assert seen == checked


def test_an_agent_whose_program_is_missing_is_found_to_be_so(terminal: Terminal) -> None:
    terminal("agent", "add", "lost", "--client", "gemini-cli")
    config = terminal.home / "config.toml"
    config.write_text(config.read_text() + '[clients.gemini-cli]\ncommand = ["/nowhere/gemini"]\n')
    (role,) = terminal.json("agent", "check", "lost", code=1)["roles"]
    assert (role["available"], role["healthCheck"]["status"]) == (False, "failed")
    assert "/nowhere/gemini" in role["healthCheck"]["reason"]
    assert terminal("group", "run", terminal.group(), "--role", "lost", "--prompt", "x", code=6).err


@pytest.mark.parametrize("language", ["en", "ja"])
def test_people_are_shown_the_same_in_their_language(terminal: Terminal, language: str) -> None:
    group = terminal.group()
    (run,) = terminal.run(group, terminal.script().write("a.txt", "x").report_result(summary="Well done."))
    terminal("group", "wait", group)
    until(lambda: terminal.json("run", "show", run)["endedAt"])
    for words, shown in (
        (("group", "ls"), group), (("group", "wait", group), run), (("run", "ls"), run), (("run", "stop", run), run),
        (("agent", "check", "coder"), "coder"), (("run", "retry", run), "exec_"),
    ):  # fmt: skip
        assert shown in terminal(*words, "--lang", language).out, words
    for agent in terminal.json("group", "show", group)["agents"]:
        until(lambda run=agent["agentId"]: terminal.json("run", "show", run)["endedAt"])
    assert group in terminal("group", "delete", group, "--lang", language).out


def test_a_group_with_its_runs_and_a_run_with_its_calls_are_drawn(terminal: Terminal) -> None:
    group = terminal.group()
    (run,) = terminal.run(group, terminal.script().write("a.txt", "x").report_result(summary="Well done."))
    terminal("group", "wait", group)
    until(lambda: terminal.json("run", "show", run)["endedAt"])
    shown = {words: terminal._kumi(*words) for words in (("group", "show", group), ("run", "show", run))}
    assert {words: result.code for words, result in shown.items()} == dict.fromkeys(shown, 0)
    assert run in shown["group", "show", group].out
    assert "Well done." in shown["run", "show", run].out


@pytest.mark.parametrize(
    "verb",
    [
        "group create", "group run", "group sequential", "group show", "group wait", "run ls", "run show", "run logs", "run stop",
        "run continue", "agent check", "group delete",
        "run retry",
    ],
)  # fmt: skip
def test_every_verb_has_examples_in_its_help(kumi: Kumi, verb: str) -> None:
    said = kumi(*verb.split(), "--help")
    assert said.code == 0
    assert f"kumi {verb}" in said.out.partition("Examples:")[2]
