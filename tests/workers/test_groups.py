"""Runs of a group in worktrees of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kumihimo.domain.errors import StartFailed, WorktreeInTheWay
from kumihimo.services import workplaces
from tests.lead.shop import Lead, wish
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop


@pytest.fixture(scope="module")
def lead(workshop: Workshop) -> Lead:
    return workshop.lead()


def placed(script: Any, **more: Any) -> dict[str, Any]:
    return {**wish(script), "worktree": True, **more}


def test_each_run_that_asks_for_it_works_on_a_branch_of_its_own_and_can_be_merged(
    workshop: Workshop, lead: Lead
) -> None:
    scripts = [workshop.writes("group/a", f"{name}\n", name) for name in ("one", "other")]
    plain = {**wish(workshop.script("plain").shell("pwd"))}
    answer = lead.call(
        "run_agents", groupId=lead.group(), agents=[*(placed(script) for script in scripts), plain]
    )["agents"]  # fmt: skip
    one, other, third = lead.ended(*(agent["agentId"] for agent in answer))
    assert one["branch"] != other["branch"]
    for state in (one, other):
        assert state["status"] == "completed"
        assert state["branch"] in workshop.branches()
        assert Path(state["worktree"], "group/a").is_file()
        assert state["workingDirectory"] == state["worktree"]
    assert (third["branch"], third["worktree"], third["workingDirectory"]) == (None, None, str(workshop.folder))
    assert not (workshop.folder / "group/a").exists()
    for state in (one, other):
        workshop.over(workshop.show(state["agentId"]))
    found = workshop.kumi("merge", one["agentId"], other["agentId"], code=1)["merges"]
    assert [(merge["run"], merge["status"]) for merge in found] == [
        (one["agentId"], "merged"),
        (other["agentId"], "conflict"),
    ]
    assert workshop.on_main("group/a") == "one"


def test_a_folder_of_the_project_is_the_same_folder_in_the_worktree(workshop: Workshop, lead: Lead) -> None:
    workshop.commit("deep/er/README", "deep\n")
    wanted = placed(workshop.writes("a"), workingDirectory="deep/er")
    (run,) = lead.run(lead.group(), wanted)
    (state,) = lead.ended(run)
    assert state["workingDirectory"] == f"{state['worktree']}/deep/er"
    assert Path(state["worktree"], "deep/er/a").is_file()


def test_the_terminal_can_ask_for_it_too(workshop: Workshop) -> None:
    group = workshop.kumi("group", "create", "A test")["groupId"]
    answer = workshop.kumi(
        "group", "run", group, "--role", "coder", "--prompt", workshop.writes("cli/a").prompt(), "--worktree"
    )
    (run,) = [agent["agentId"] for agent in answer["agents"]]
    workshop.over(workshop.show(run))
    shown = workshop.kumi("run", "show", run)
    assert shown["branch"] in workshop.branches()
    assert Path(shown["worktree"], "cli/a").is_file()
    assert [commit["subject"] for commit in workshop.kumi("run", "show", run, "--proof")["commits"]] == ["work"]


def test_what_is_refused_as_a_whole_leaves_no_worktree_and_no_branch(workshop: Workshop, lead: Lead) -> None:
    names, branches, group = workshop.worktree_names(), workshop.branches(), lead.group()
    good = placed(workshop.script())
    assert lead.refused("run_agents", groupId=group, agents=[good, {**good, "role": "nobody"}]) == "ROLE_NOT_FOUND"
    missing = {**good, "workingDirectory": "no/such"}
    assert lead.refused("run_agents", groupId=group, agents=[good, missing]) == "AGENTS_START_FAILED"
    assert lead.refused("run_agents", groupId=group, agents=[good] * 11) == "MAX_CONCURRENT_REACHED"
    assert (workshop.worktree_names(), workshop.branches()) == (names, branches)
    assert lead.call("list_agents", groupId=group)["total"] == 0


def test_where_the_second_place_can_not_be_made_the_first_is_taken_back(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, branches, make = workshop.worktree_names(), workshop.branches(), workplaces.make
    made: list[str] = []

    def fail_second(*args: Any, **how: Any) -> Any:
        if made:
            raise WorktreeInTheWay("second", "somewhere")
        made.append(args[2])
        return make(*args, **how)

    monkeypatch.setattr(workplaces, "make", fail_second)
    group = workshop.board.groups.create("A test").id
    agents = [{"role": "coder", "prompt": "Do it.", "worktree": True}] * 2
    with pytest.raises(StartFailed):
        workshop.do("group.run", group=group, agents=agents)
    assert len(made) == 1
    assert (workshop.worktree_names(), workshop.branches()) == (names, branches)
    assert workshop.board.executions.sights_of(group_id=group).items == []


def test_in_a_folder_that_is_no_repository_it_is_refused_and_nothing_is_started(open_workshop: OpenWorkshop) -> None:
    opened = open_workshop(up=False)
    (opened.folder / ".git").rename(opened.folder.parent / "away")
    lead = opened.lead()
    group = lead.group()
    assert lead.refused("run_agents", groupId=group, agents=[placed(opened.script())]) == "AGENTS_START_FAILED"
    assert lead.call("list_agents", groupId=group)["total"] == 0
