"""Pages by key: every row once, whatever is added meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kumihimo.domain.errors import CursorInvalid, InvalidValue
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish
from kumihimo.store.paging import Page, encode
from kumihimo.testing.boards import BoardKit


@pytest.fixture
def here(kit: BoardKit) -> Place:
    return Place(kit.board.projects.init("/srv/shop", git=False).project.id)


def visit(page: Callable[[str | None], Page[Any]], between: Callable[[], object]) -> list[Any]:
    """All items, page by page, with something happening between the pages."""
    items: list[Any] = []
    cursor = None
    while True:
        found = page(cursor)
        items += found.items
        if found.next_cursor is None:
            return items
        cursor = found.next_cursor
        between()


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 20])
def test_tasks_are_visited_once_while_others_are_added(kit: BoardKit, here: Place, limit: int) -> None:
    def add() -> object:
        return kit.board.tasks.create(here, NewTask("work"))

    for _ in range(7):
        add()
    seen = visit(lambda cursor: kit.board.tasks.list(here, limit=limit, cursor=cursor), add)
    assert [view.task.number for view in seen] == [7, 6, 5, 4, 3, 2, 1]


def test_tasks_of_a_status_are_visited_once_while_others_move(kit: BoardKit, here: Place) -> None:
    for _ in range(6):
        kit.board.tasks.create(here, NewTask("work"))
    moved = iter([6, 5, 4, 3])

    def move() -> object:
        return kit.board.tasks.update(here, next(moved), status="cancelled")

    seen = visit(lambda cursor: kit.board.tasks.list(here, statuses=["todo"], limit=2, cursor=cursor), move)
    assert [view.task.number for view in seen] == [6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_executions_of_one_moment_are_visited_once_while_others_are_added(
    kit: BoardKit, here: Place, limit: int
) -> None:
    """The clock stands still, so only the id tells them apart."""
    wish = Wish(kit.board.agents.show("coder"), "group")

    def add() -> Any:
        made = kit.board.executions.enqueue(wish)
        assert made is not None
        return made.id

    first = [add() for _ in range(7)]
    seen = visit(lambda cursor: kit.board.executions.list(limit=limit, cursor=cursor), add)
    assert [run.id for run in seen if run.id in first] == sorted(first, reverse=True)
    assert len({run.id for run in seen}) == len(seen)


def test_agents_and_memories_are_visited_once_by_name_while_others_are_added(
    kit: BoardKit, here: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kumihimo.services import passkeys

    monkeypatch.setattr(passkeys, "hash_of", lambda _: "hash")
    count = iter(range(100))

    def add() -> object:
        name = f"x{next(count):03d}"
        kit.board.memories.add(here, name, category="rules", title=name)
        return kit.board.agents.add(name)

    for _ in range(5):
        add()
    agents = visit(lambda cursor: kit.board.agents.list(limit=2, cursor=cursor), lambda: None)
    assert [agent.name for agent in agents] == sorted(agent.name for agent in agents)
    assert len(agents) == 9
    memories = visit(lambda cursor: kit.board.memories.list(here, limit=2, cursor=cursor), lambda: None)
    assert [memory.slug for memory in memories] == ["x000", "x001", "x002", "x003", "x004"]


def test_a_full_last_page_has_no_cursor(kit: BoardKit, here: Place) -> None:
    for _ in range(4):
        kit.board.tasks.create(here, NewTask("work"))
    page = kit.board.tasks.list(here, limit=2)
    assert page.next_cursor is not None
    assert kit.board.tasks.list(here, limit=2, cursor=page.next_cursor).next_cursor is None


CURSORS = ["", "!", "x" * 500, encode("text"), encode(1, "two"), encode(), "bnVsbA", "組", "AAAA", encode(2**70)]


@pytest.mark.parametrize("cursor", CURSORS)
def test_a_cursor_that_no_list_of_tasks_gave_is_refused(kit: BoardKit, here: Place, cursor: str) -> None:
    with pytest.raises(CursorInvalid):
        kit.board.tasks.list(here, cursor=cursor)


@pytest.mark.parametrize("limit", [0, -1, 1_001, 10**20])
def test_a_page_that_is_too_small_or_too_large_is_refused(kit: BoardKit, here: Place, limit: int) -> None:
    with pytest.raises(InvalidValue):
        kit.board.tasks.list(here, limit=limit)


@pytest.mark.parametrize("cursor", [encode("a\0b"), encode(1), encode("a", "b")])
def test_a_cursor_that_no_list_of_agents_gave_is_refused(kit: BoardKit, here: Place, cursor: str) -> None:
    with pytest.raises(CursorInvalid):
        kit.board.agents.list(cursor=cursor)


@pytest.mark.parametrize("cursor", [encode(2**70, "exec_1"), encode(1, "a\0b"), encode(1), encode("exec_1", 1)])
def test_a_cursor_that_no_list_of_executions_gave_is_refused(kit: BoardKit, here: Place, cursor: str) -> None:
    with pytest.raises(CursorInvalid):
        kit.board.executions.list(cursor=cursor)
