from __future__ import annotations

from itertools import product

import pytest

from kumihimo.domain.errors import (
    AgentNotFound,
    DependencyCycle,
    IllegalTransition,
    InvalidValue,
    ProjectArchived,
    TaskHeld,
    TaskNotFound,
    TaskNotReady,
)
from kumihimo.domain.task import STATES, TaskStatus
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from tests.services.conftest import Shop

WAYS: dict[TaskStatus, tuple[TaskStatus, ...]] = {
    "backlog": (),
    "todo": ("todo",),
    "in_progress": ("todo", "in_progress"),
    "blocked": ("todo", "in_progress", "blocked"),
    "done": ("todo", "in_progress", "done"),
    "cancelled": ("cancelled",),
}


def test_each_project_numbers_its_own_tasks(shop: Shop) -> None:
    other = shop.kit.board.projects.init("/srv/other", git=False).project
    assert [shop.task("one").number, shop.task("two").number] == [1, 2]
    assert shop.kit.board.tasks.create(Place(other.id), NewTask("one")).task.number == 1


@pytest.mark.parametrize("before", list(WAYS))
def test_every_move_of_the_table_is_taken_and_every_other_is_refused_and_changes_nothing(
    shop: Shop, before: TaskStatus
) -> None:
    for after in WAYS:
        task = shop.walk(shop.task(status="backlog"), *WAYS[before])
        events = shop.events()
        if after == before or (before, after) in STATES.rows:
            assert shop.walk(task, after).status == after
        else:
            with pytest.raises(IllegalTransition):
                shop.walk(task, after)
            assert shop.kit.board.tasks.show(shop.here, task.id).task == task
            assert shop.events() == events


def test_work_begins_only_with_an_assignee_who_is_in_the_project_and_active(shop: Shop) -> None:
    board = shop.kit.board
    task = shop.task(assignee=None)
    with pytest.raises(TaskNotReady, match="no assignee"):
        shop.walk(task, "in_progress")
    stranger = board.agents.add("stranger").agent
    board.tasks.assign(shop.here, task.number, "stranger")
    with pytest.raises(TaskNotReady, match="kumi project assign shop stranger"):
        shop.walk(task, "in_progress")
    board.projects.assign("shop", stranger)
    board.agents.archive("stranger")
    with pytest.raises(TaskNotReady, match="archived"):
        shop.walk(task, "in_progress")
    board.agents.update("stranger", status="active")
    assert shop.walk(task, "in_progress").status == "in_progress"


def test_an_archived_project_takes_no_task_and_begins_none_until_it_is_taken_up_again(shop: Shop) -> None:
    task, projects = shop.task(), shop.kit.board.projects
    projects.move("shop", "archive")
    for attempt in (shop.task, lambda: shop.walk(task, "in_progress")):
        with pytest.raises(ProjectArchived, match="kumi project resume shop"):
            attempt()
    assert shop.kit.board.tasks.list(shop.here).items[0].task == task
    projects.move("shop", "resume")
    assert shop.walk(shop.task(), "in_progress").status == "in_progress"


def test_work_begins_only_when_every_dependency_is_done(shop: Shop) -> None:
    one, two = shop.task("one"), shop.task("two")
    after = shop.task("after", depends_on=[one.number, two.id, one.number])
    assert after.depends_on == (one.id, two.id)
    shop.walk(one, "in_progress", "done")
    shop.walk(two, "cancelled")
    with pytest.raises(TaskNotReady, match="#2"):
        shop.walk(after, "in_progress")
    shop.kit.board.tasks.update(shop.here, after.number, depends_on=[one.number])
    assert shop.walk(after, "in_progress").status == "in_progress"


def test_a_parent_is_done_only_when_its_subtasks_are_done_or_cancelled(shop: Shop) -> None:
    parent = shop.walk(shop.task("parent"), "in_progress")
    kids = [shop.task("kid", parent=parent.number) for _ in range(2)]
    with pytest.raises(TaskNotReady, match="#2, #3"):
        shop.walk(parent, "done")
    shop.walk(kids[0], "cancelled")
    with pytest.raises(TaskNotReady, match="#3"):
        shop.walk(parent, "done")
    shop.walk(kids[1], "in_progress", "done")
    assert shop.walk(parent, "done").status == "done"


def test_a_task_with_checks_is_done_by_a_person_only_when_they_say_so(shop: Shop) -> None:
    board = shop.kit.board
    own = shop.walk(shop.task(dod=["make test"]), "in_progress")
    board.agents.update("coder", dod=["make lint"])
    agents = shop.walk(shop.task(), "in_progress")
    for task, check in ((own, "make test"), (agents, "make lint")):
        with pytest.raises(TaskNotReady, match=check):
            shop.walk(task, "done")
        assert board.tasks.update(shop.here, task.id, status="done", force=True).task.status == "done"


def test_dependencies_and_parents_never_form_a_ring(shop: Shop) -> None:
    board = shop.kit.board
    a, b, c = (shop.task(name) for name in "abc")
    board.tasks.update(shop.here, b.number, depends_on=[a.number], parent=a.number)
    board.tasks.update(shop.here, c.number, depends_on=[b.number], parent=b.number)
    events = shop.events()
    for target in (a, b, c):
        with pytest.raises(DependencyCycle):
            board.tasks.update(shop.here, a.number, depends_on=[target.number])
        with pytest.raises(InvalidValue, match="itself"):
            board.tasks.update(shop.here, a.number, parent=target.number)
    assert shop.events() == events
    assert board.tasks.show(shop.here, a.number).depends_on == []


def test_a_task_of_another_project_can_be_neither_parent_nor_dependency(shop: Shop) -> None:
    board = shop.kit.board
    other = board.projects.init("/srv/other", git=False).project
    foreign = board.tasks.create(Place(other.id), NewTask("foreign")).task
    for field in ("parent", "depends_on"):
        value = foreign.id if field == "parent" else [foreign.id]
        with pytest.raises(InvalidValue, match="not in this project"):
            shop.task(**{field: value})  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="99"):
        shop.task(depends_on=[99])


@pytest.mark.parametrize(("status", "assignable"), [(s, s in ("backlog", "todo", "blocked")) for s in WAYS])
def test_a_task_is_given_to_somebody_else_only_while_nobody_works_on_it(
    shop: Shop, status: TaskStatus, assignable: bool
) -> None:
    task = shop.walk(shop.task(status="backlog"), *WAYS[status])
    assert shop.kit.board.tasks.assign(shop.here, task.id, "coder").task == task
    if assignable:
        changed = shop.kit.board.tasks.assign(shop.here, task.id, "reviewer")
        assert changed.assignee == shop.reviewer
    else:
        with pytest.raises(TaskHeld):
            shop.kit.board.tasks.assign(shop.here, task.id, "reviewer")


def test_the_kind_of_assignee_must_be_that_of_the_agent(shop: Shop) -> None:
    with pytest.raises(InvalidValue, match="human"):
        shop.task(assignee_type="human")
    wish = shop.task(assignee=None, assignee_type="human")
    assert wish.assignee_type == "human"
    board = shop.kit.board
    assert board.tasks.update(shop.here, wish.id, assignee_type="ai").task.assignee_type == "ai"
    assert board.tasks.assign(shop.here, wish.id, "coder").task.assignee_type is None


@pytest.mark.parametrize("status", ["blocked", "done", "cancelled"])
def test_a_task_can_not_begin_where_it_would_have_to_get_to(shop: Shop, status: TaskStatus) -> None:
    with pytest.raises(TaskNotReady, match="begin"):
        shop.task(status=status)
    assert shop.task(status="in_progress").number == 1, "the refused one took no number"


def test_a_task_is_found_by_number_id_or_prefix(shop: Shop) -> None:
    task = shop.task()
    show = shop.kit.board.tasks.show
    for reference in (1, "1", "#1", task.id, task.id[:-2]):
        assert show(shop.here, reference).task == task
    for reference in (0, -1, 2, "2", "1.5", "../1", "1 OR 1=1", "tsk_zzz", 10**30, str(10**30), "", "\0", "tsk_\0"):
        with pytest.raises(TaskNotFound):
            show(shop.here, reference)


def test_a_list_is_newest_first_filtered_and_paged(shop: Shop) -> None:
    tasks = [shop.task(f"t{n}", assignee="coder" if n % 2 else "reviewer") for n in range(25)]
    shop.walk(tasks[3], "in_progress")
    board = shop.kit.board
    assert [view.task.number for view in board.tasks.list(shop.here).items] == list(range(25, 5, -1))
    assert [v.task.number for v in board.tasks.list(shop.here, statuses=("in_progress",)).items] == [4]
    assert all(v.assignee == shop.reviewer for v in board.tasks.list(shop.here, assignee="reviewer").items)
    seen: list[int] = []
    cursor = None
    while True:
        page = board.tasks.list(shop.here, limit=7, cursor=cursor)
        seen += [view.task.number for view in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == list(range(25, 0, -1))
    with pytest.raises(AgentNotFound):
        board.tasks.list(shop.here, assignee="nobody")


def test_an_update_that_is_refused_at_its_end_changes_nothing_at_all(shop: Shop) -> None:
    task = shop.task()
    events = shop.events()
    with pytest.raises(IllegalTransition):
        shop.kit.board.tasks.update(shop.here, task.id, title="renamed", assignee="reviewer", status="done")
    assert shop.kit.board.tasks.show(shop.here, task.id).task == task
    assert shop.events() == events


def test_every_pair_of_priority_and_type_is_kept(shop: Shop) -> None:
    for priority, kind in product(("low", "medium", "high", "critical"), ("task", "feature", "bug", "refactor")):
        made = shop.task(priority=priority, type=kind)
        assert (made.priority, made.type) == (priority, kind)
