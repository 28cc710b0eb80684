from __future__ import annotations

import pytest

from kumihimo.domain.errors import (
    AmbiguousReference,
    InvalidValue,
    NameTaken,
    NoProject,
    ProjectNotFound,
    ProjectUnclear,
)
from kumihimo.services.projects import Place
from kumihimo.testing.boards import BoardKit

BUILT_INS = ["coder", "planner", "reviewer", "writer"]


def test_init_makes_a_project_with_the_built_in_agents_and_can_be_repeated(kit: BoardKit) -> None:
    first = kit.board.projects.init("/srv/shop", git=True)
    again = kit.board.projects.init("/srv/shop", git=True)
    assert (first.created, again.created) == (True, False)
    assert again.project == first.project
    assert first.project.worktrees
    assert sorted(agent.name for agent in again.agents) == BUILT_INS
    assert set(again.project.agent_ids) == {agent.id for agent in again.agents}
    assert len(kit.board.agents.list().items) == 4


def test_two_folders_of_the_same_name_become_two_projects_with_the_same_agents(kit: BoardKit) -> None:
    names = [kit.board.projects.init(folder, git=False).project.name for folder in ("/a/app", "/b/app", "/c/app")]
    assert names == ["app", "app-2", "app-3"]
    assert len(kit.board.agents.list().items) == 4


def test_a_name_or_a_folder_belongs_to_one_project(kit: BoardKit) -> None:
    kit.board.projects.add("shop", "/srv/shop")
    with pytest.raises(NameTaken):
        kit.board.projects.add("shop", "/srv/other")
    with pytest.raises(InvalidValue, match="belongs to project 'shop'"):
        kit.board.projects.add("other", "/srv/shop")


def test_the_project_is_the_named_one_else_the_innermost_folders_else_the_only_one(kit: BoardKit) -> None:
    with pytest.raises(NoProject):
        kit.board.projects.at(Place(None, "/elsewhere"))
    outer = kit.board.projects.add("outer", "/srv")
    assert kit.board.projects.at(Place(None, "/elsewhere")) == outer
    inner = kit.board.projects.add("inner", "/srv/inner")
    assert kit.board.projects.at(Place("outer", "/srv/inner")) == outer
    assert kit.board.projects.at(Place(None, "/srv/inner/src/deep")) == inner
    assert kit.board.projects.at(Place(None, "/srv/innermost")) == outer
    with pytest.raises(ProjectUnclear, match="inner, outer"):
        kit.board.projects.at(Place(None, "/elsewhere"))


def test_a_project_is_found_by_id_prefix_or_name_and_a_near_miss_is_named(kit: BoardKit) -> None:
    shop = kit.board.projects.add("shop", "/srv/shop")
    kit.board.projects.add("ship", "/srv/ship")
    assert kit.board.projects.show(shop.id) == shop
    assert kit.board.projects.show("shop") == shop
    with pytest.raises(AmbiguousReference):
        kit.board.projects.show("prj_")
    with pytest.raises(ProjectNotFound, match="Did you mean 'shop'"):
        kit.board.projects.show("shopp")


def test_pause_resume_and_archive_move_as_the_table_says_and_may_be_repeated(kit: BoardKit) -> None:
    kit.board.projects.add("shop", "/srv/shop")
    seen = [
        kit.board.projects.move("shop", action).status for action in ("pause", "pause", "resume", "archive", "resume")
    ]
    assert seen == ["paused", "paused", "active", "archived", "active"]


def test_init_takes_an_archived_project_up_again(kit: BoardKit) -> None:
    made = kit.board.projects.init("/srv/shop", git=False).project
    kit.board.projects.move(made.id, "archive")
    assert kit.board.projects.init("/srv/shop", git=False).project.status == "active"


def test_assigning_twice_and_unassigning_a_stranger_change_nothing(kit: BoardKit) -> None:
    kit.board.projects.add("shop", "/srv/shop")
    agent = kit.board.agents.add("dev").agent
    kit.board.projects.unassign("shop", agent)
    before = kit.board.store.newest_cursor()
    one = kit.board.projects.assign("shop", agent)
    two = kit.board.projects.assign("shop", agent)
    assert one == two
    assert one.agent_ids == (agent.id,)
    assert len(kit.board.store.events_after(before)) == 1
    assert kit.board.projects.unassign("shop", agent).agent_ids == ()


def test_nobody_takes_the_place_of_another_by_being_called_by_its_id(kit: BoardKit) -> None:
    board = kit.board
    first = board.projects.add("first", "/srv/first")
    second = board.projects.add(first.id, "/srv/second")
    assert (board.projects.show(first.id), board.projects.show(second.id)) == (first, second)
    third = board.projects.add(first.id[:8], "/srv/third")
    # A name is a name where it is nobody's id.
    assert board.projects.show(first.id[:8]) == third
    one = board.agents.add("one").agent
    other = board.agents.add(one.id).agent
    assert (board.agents.show(one.id), board.agents.show(other.id)) == (one, other)
