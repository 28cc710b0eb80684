"""A project whose runs are moved by hand, on either database, and what is told of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import Struct

from kumihimo.domain.agent import Agent
from kumihimo.domain.execution import Execution
from kumihimo.domain.messages import Language
from kumihimo.domain.notice import Notice
from kumihimo.domain.project import Project
from kumihimo.domain.task import Task
from kumihimo.services.board import Board
from kumihimo.services.groups import Errand, Limits
from kumihimo.services.notices import Notices
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish
from kumihimo.testing.boards import BoardKit


class Shop(Struct):
    kit: BoardKit
    project: Project
    coder: Agent

    @property
    def board(self) -> Board:
        return self.kit.board

    @property
    def here(self) -> Place:
        return Place(self.project.id)

    def task(self, title: str = "Sell shoes", **more: object) -> Task:
        new = NewTask(title, assignee="coder", **more)  # type: ignore[arg-type]
        return self.board.tasks.create(self.here, new).task

    def move(self, task: Task, *statuses: str, reason: str | None = None) -> Task:
        for status in statuses:
            task = self.board.tasks.update(self.here, task.id, status=status, reason=reason, force=True).task  # type: ignore[arg-type]
        return task

    def group(self, count: int = 2, description: str = "Build it") -> list[Execution]:
        group = self.board.groups.create(description)
        return self.more(group.id, count)

    def more(self, group_id: str, count: int) -> list[Execution]:
        errands = [Errand("coder", "Do it.", "/srv/shop")] * count
        return self.board.groups.run(group_id, errands, Limits(50, self.project.id))

    def plan(self, *sizes: int, **how: object) -> list[list[Execution]]:
        group = self.board.groups.create("Stage by stage", mode="sequential")
        stages = [[Errand("coder", "Do it.", "/srv/shop")] * size for size in sizes]
        return self.board.groups.plan(group.id, stages, Limits(50, self.project.id), **how).stages  # type: ignore[arg-type]

    def worker(self, task: Task, branch: str | None = "task-1-s1") -> Execution:
        wish = Wish(
            self.coder, "worker", task=task, numbered=True, branch=branch, worktree="/srv/tree" if branch else None
        )
        made = self.board.executions.enqueue(wish)
        assert made is not None
        return made

    def start(self, run: Execution) -> Execution:
        """Claimed in the order in which they were asked for, until it is this one's turn."""
        while (now := self.board.executions.show(run.id)).status == "queued":
            claimed = self.board.executions.claim("host")
            assert claimed is not None
            self.board.executions.start(claimed.id, claimed.fence)
        return now

    def complete(self, *runs: Execution) -> None:
        for run in runs:
            self.board.executions.complete(run.id, self.start(run).fence)

    def fail(self, run: Execution, reason: str = "exited", **facts: object) -> None:
        self.board.executions.fail(run.id, self.start(run).fence, reason, **facts)  # type: ignore[arg-type]

    def notices(self, language: Language = "en") -> list[Notice]:
        """Of the whole log, by a reader of its own."""
        judge = Notices(self.board.store, language, "http://127.0.0.1:9696")
        return [notice for event in self.board.store.events_after(None, 10_000) for notice in judge.of(event)]

    def told(self) -> list[tuple[str, str]]:
        return [(notice.kind, notice.subject) for notice in self.notices()]

    def titles(self) -> Sequence[str]:
        return [notice.title for notice in self.notices()]


@pytest.fixture
def shop(kit: BoardKit) -> Shop:
    made = kit.board.projects.init("/srv/shop", git=True)
    agents = {agent.name: agent for agent in made.agents}
    return Shop(kit, made.project, agents["coder"])
