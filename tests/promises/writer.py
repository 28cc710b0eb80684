"""A child that writes for ever and says after each command what it has been told is done. Made to be killed.

With a point it stops there, inside its command, says so and waits for its end.
"""

from __future__ import annotations

import itertools
import json
import random
import signal
import sys
from collections.abc import Sequence
from typing import Any

from workers import open_board

from kumihimo.domain.errors import KumihimoError
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask


class StoppingConnection:
    """The real connection, which stops the process at one named point of a command."""

    def __init__(self, connection: Any, point: str) -> None:
        self._connection = connection
        self._point = point
        self.armed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def begin_write(self) -> None:
        self._connection.begin_write()
        self._reach("after_begin")

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        answer = self._connection.execute(sql, values)
        if "INSERT INTO events" in sql:
            self._reach("after_event")
        elif sql.startswith(("INSERT INTO tasks ", "UPDATE tasks ")):
            self._reach("after_row")
        elif sql.startswith("INSERT INTO task_dependencies"):
            self._reach("after_dependency")
        return answer

    def commit(self) -> None:
        self._reach("before_commit")
        self._connection.commit()
        self._reach("after_commit")

    def ring(self) -> None:
        self._connection.ring()
        self._reach("after_ring")

    def _reach(self, point: str) -> None:
        if self.armed and point == self._point:
            say({"at": point})
            signal.pause()


def say(line: Any) -> None:
    print(json.dumps(line), flush=True)


class Writer:
    def __init__(self, board: Board, project: str, name: str) -> None:
        self._board = board
        self._here = Place(project)
        self._name = name
        self._random = random.Random(name)
        self._tasks: list[str] = []
        self._handoffs: list[str] = []

    def run(self) -> None:
        verbs = [self.create, self.create, self.move, self.save, self.hand_over, self.accept]
        for count in itertools.count():
            mark = f"{self._name}.{count}"
            verb = self._random.choice(verbs) if self._tasks and self._handoffs else self.create
            if count == 1:
                verb = self.hand_over
            try:
                say(verb(mark))
            except KumihimoError as refusal:
                say({"kind": "refused", "code": refusal.code})

    def create(self, mark: str) -> dict[str, Any]:
        wanted = self._random.sample(self._tasks, min(3, len(self._tasks)))
        made = self._board.tasks.create(self._here, NewTask(mark, assignee="coder", depends_on=wanted)).task
        self._tasks.append(made.id)
        return {"kind": "create", "id": made.id, "number": made.number, "depends_on": wanted, "mark": mark}

    def move(self, mark: str) -> dict[str, Any]:
        """Two changes of one task in one command."""
        task = self._random.choice(self._tasks)
        moved = self._board.tasks.update(self._here, task, title=mark, status=self._random.choice(["backlog", "todo"]))
        return {"kind": "move", "id": task, "status": moved.task.status, "mark": mark}

    def save(self, mark: str) -> dict[str, Any]:
        """Four entries in one command."""
        task = self._random.choice(self._tasks)
        self._board.contexts.save(
            self._here, task, progress=mark, findings=mark, blockers=mark, next_steps=mark, agent="coder"
        )
        return {"kind": "save", "id": task, "mark": mark}

    def hand_over(self, mark: str) -> dict[str, Any]:
        task = self._random.choice(self._tasks)
        made = self._board.handoffs.create(self._here, task, from_agent="coder", summary=mark, next_steps=[mark])
        self._handoffs.append(made.handoff.id)
        return {"kind": "hand_over", "id": made.handoff.id, "mark": mark}

    def accept(self, mark: str) -> dict[str, Any]:
        handoff = self._random.choice(self._handoffs)
        self._board.handoffs.accept(handoff, "reviewer")
        return {"kind": "accept", "id": handoff, "mark": mark}


def stop_at(board: Board, project: str, point: str) -> None:
    """Two tasks and a third that depends on both, whose command does not come to its end."""
    here = Place(project)
    first, second = (board.tasks.create(here, NewTask(title)).task.number for title in ("one", "two"))
    connection = StoppingConnection(board.store.connection, point)
    board.store.connection = connection
    # The repositories hold the connection too: everything that the command does goes through the stopping one.
    for part in vars(board.store._transaction).values():
        part._connection = connection
    connection.armed = True
    board.tasks.create(here, NewTask("stopped", depends_on=[first, second]))
    say({"missed": point})


def main() -> None:
    database, project, name, *point = sys.argv[1:]
    board = open_board(database)
    say("ready")
    if point:
        stop_at(board, project, point[0])
    else:
        Writer(board, project, name).run()


if __name__ == "__main__":
    main()
