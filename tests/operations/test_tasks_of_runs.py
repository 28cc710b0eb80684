"""A run with a token of its own: its task is the one that it was started for, whatever else its agent has to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo.domain.errors import TaskRefused
from kumihimo.domain.execution import Execution
from kumihimo.domain.session import Session
from kumihimo.domain.task import Task
from kumihimo.operations.catalogue import named
from kumihimo.operations.operation import Call, Caller
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish
from kumihimo.settings import Flags, load
from kumihimo.testing.boards import BoardKit


class Work:
    """An agent with two tasks in progress, and a run on the second."""

    def __init__(self, kit: BoardKit, folder: Path) -> None:
        self.kit = kit
        self.board = board = kit.board
        self.settings = load(Flags(), {"KUMI_HOME": str(folder)}, folder)
        self.project = board.projects.init("/srv/shop", git=False).project
        self.agent = board.agents.show("coder")
        self.first, self.second = self.task("first"), self.task("second")

    def task(self, title: str) -> Task:
        return self.board.tasks.create(
            Place(self.project.id), NewTask(title, status="in_progress", assignee="coder")
        ).task

    def run(self, task: Task | None) -> Execution:
        made = self.board.executions.enqueue(Wish(self.agent, "worker", task=task, project_id=self.project.id))
        assert made is not None
        return made

    def call(self, run: Execution) -> Call:
        """As a door makes it of the run's token."""
        at = self.kit.clock()
        session = Session(run.id, self.agent.id, self.project.id, "live", at, at)
        caller = Caller(self.agent.id, Place(self.project.id), session, run.id, (self.agent.id, self.project.id))
        return Call(self.settings, caller, None, self.board)


@pytest.fixture
def work(kit: BoardKit, tmp_path: Path) -> Work:
    return Work(kit, tmp_path)


def test_a_run_is_brought_its_own_task_with_context_and_handoff_and_no_second_record_is_opened(work: Work) -> None:
    run = work.run(work.second)
    here = Place(work.project.id)
    work.board.contexts.save(here, work.second.id, progress="half")
    made = work.board.handoffs.create(here, work.second.id, from_agent="reviewer", summary="go on").handoff
    operation = named("mine.task")
    for _ in range(2):
        found = operation(work.call(run), operation.read({})).assignment
        assert (found.task.id, found.context.progress, found.handoff) == (work.second.id, "half", made)
    assert [each.id for each in work.board.executions.list().items] == [run.id]


def test_what_a_run_saves_without_naming_a_task_is_about_its_own(work: Work) -> None:
    operation = named("mine.save_context")
    operation(work.call(work.run(work.second)), operation.read({"progress": "half"}))
    here = Place(work.project.id)
    assert work.board.contexts.show(here, work.second.id).progress == "half"
    assert work.board.contexts.show(here, work.first.id).progress is None


def test_a_run_without_a_task_has_none(work: Work) -> None:
    call = work.call(work.run(None))
    operation = named("mine.task")
    assert operation(call, operation.read({})).assignment is None
    saving = named("mine.save_context")
    with pytest.raises(TaskRefused):
        saving(call, saving.read({"progress": "half"}))
