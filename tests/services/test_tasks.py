from __future__ import annotations

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.testing.boards import BoardKit


def test_a_new_task_has_the_next_number_of_its_project(kit: BoardKit) -> None:
    made = kit.board.projects.init("/work/shop", git=False)
    here = Place(made.project.id)
    first = kit.board.tasks.create(here, NewTask("one"))
    second = kit.board.tasks.create(here, NewTask("two"))
    assert [first.task.number, second.task.number] == [1, 2]
