"""Commands of mixed kinds that build on what other processes did a moment ago. Refusals by the rules are part of it."""

from __future__ import annotations

import random
from collections.abc import Callable

from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.task import STATES, Task
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish


class Mixture:
    def __init__(self, board: Board, project: str, seed: int) -> None:
        self._board = board
        self._here = Place(project)
        self._random = random.Random(seed)
        self._seed = seed
        self._made = 0

    def run(self, count: int) -> int:
        """So many commands; answers how many were not refused."""
        verbs: list[Callable[[], object]] = [
            self.create, self.create, self.move, self.move, self.move, self.move, self.note, self.save,
            self.hand_over, self.accept, self.remember, self.work, self.finish, self.queue, self.claim,
        ]  # fmt: skip
        done = 0
        for _ in range(count):
            try:
                self._random.choice(verbs)()
                done += 1
            except KumihimoError:
                # Another process was faster, or the rules say no: nothing was written.
                pass
        return done

    def create(self) -> None:
        recent = self._recent()
        others = self._random.sample(recent, min(2, len(recent)))
        parent = self._random.choice(recent).number if recent and self._random.random() < 0.3 else None
        self._board.tasks.create(
            self._here,
            NewTask(self._name("task"), assignee="coder", depends_on=[t.number for t in others], parent=parent),
        )

    def move(self) -> None:
        task = self._some()
        ways = STATES.actions(task.status) or ["todo"]
        self._board.tasks.update(self._here, task.id, status=self._random.choice(ways), force=True)  # type: ignore[arg-type]

    def note(self) -> None:
        self._board.contexts.add(self._here, self._some().id, self._name("note"), "note", "coder")

    def save(self) -> None:
        self._board.contexts.save(self._here, self._some().id, progress=self._name("progress"), findings="…")

    def hand_over(self) -> None:
        self._board.handoffs.create(self._here, self._some().id, from_agent="coder", summary=self._name("handoff"))

    def accept(self) -> None:
        waiting = self._board.handoffs.pending(place=self._here)
        if waiting:
            self._board.handoffs.accept(self._random.choice(waiting).handoff.id, "reviewer")

    def remember(self) -> None:
        slug = f"rule-{self._random.randrange(5)}"
        if self._random.random() < 0.5:
            self._board.memories.add(self._here, slug, category="rules", title=self._name("rule"))
        else:
            self._board.memories.update(self._here, slug, title=self._name("rule"))

    def work(self) -> None:
        self._board.work_sessions.start(self._here, self._some().id, "coder")

    def finish(self) -> None:
        running = self._board.work_sessions.list(self._here, statuses=["running"]).items
        if running:
            chosen = self._random.choice(running).execution
            self._board.work_sessions.end(self._here, chosen.id, self._random.choice([0, 1]), dod_result="merged")

    def queue(self) -> None:
        self._board.executions.enqueue(Wish(self._board.agents.show("coder"), "group", prompt=self._name("run")))

    def claim(self) -> None:
        claimed = self._board.executions.claim(self._name("owner"))
        if claimed is not None:
            self._board.executions.start(claimed.id, claimed.fence)
            self._board.executions.complete(claimed.id, claimed.fence)

    def _recent(self) -> list[Task]:
        return [view.task for view in self._board.tasks.list(self._here, limit=6).items]

    def _some(self) -> Task:
        """One of the newest tasks, whoever made it; one of our own where there is none."""
        recent = self._recent()
        if not recent:
            self.create()
            recent = self._recent()
        return self._random.choice(recent)

    def _name(self, noun: str) -> str:
        self._made += 1
        return f"{noun} {self._seed}.{self._made}"
