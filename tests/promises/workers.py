"""What a child process does: one verb per job, read as JSON from stdin, answered as JSON on stdout.

A refusal of ours is an answer, `{"refused": CODE}`; anything else that goes wrong is `{"crash": TRACEBACK}`.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from kumihimo.app import now
from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish
from kumihimo.store.store import open_store


def open_board(database: str) -> Board:
    return Board(open_store(database), now, Identifiers(os.urandom))


def authenticate(board: Board, agent: str, passkey: str, project: str) -> str:
    return board.sessions.authenticate(agent, passkey, project).session.id


def open_session(board: Board, agent: str, project: str) -> str:
    return board.sessions.open(agent, project).session.id


def claim_all(board: Board, owner: str) -> list[list[Any]]:
    """Claims until there is nothing left to claim."""
    claims: list[list[Any]] = []
    while (claimed := board.executions.claim(owner)) is not None:
        claims.append([claimed.id, claimed.fence])
    return claims


def start_work(board: Board, project: str, task: str) -> str:
    return board.work_sessions.start(Place(project), task).execution.id


def ask_for_worker(board: Board, task: str, agent: str) -> str | None:
    worker = board.agents.show(agent)
    view = board.tasks.show(Place(), task)
    wished = board.executions.enqueue(Wish(worker, "worker", task=view.task))
    return wished.id if wished else None


def depend(board: Board, project: str, task: str, on: str) -> str:
    return board.tasks.update(Place(project), task, depends_on=[on]).task.id


def put_below(board: Board, project: str, task: str, parent: str) -> str:
    return board.tasks.update(Place(project), task, parent=parent).task.id


def move(board: Board, project: str, task: str, status: Any) -> str:
    return board.tasks.update(Place(project), task, status=status).task.id


def add_subtask(board: Board, project: str, parent: str) -> str:
    return board.tasks.create(Place(project), NewTask("part", parent=parent)).task.id


def add_task(board: Board, project: str) -> int:
    return board.tasks.create(Place(project), NewTask("work")).task.number


def init(board: Board, folder: str) -> list[Any]:
    made = board.projects.init(folder, git=False)
    return [made.project.id, [agent.id for agent in made.agents]]


def join_project(board: Board, project: str, agent: str) -> str:
    return board.projects.assign(project, board.agents.show(agent)).id


def accept(board: Board, handoff: str, agent: str) -> str:
    return board.handoffs.accept(handoff, agent).handoff.id


def log_in(board: Board, agent: str, project: str) -> str:
    return board.sessions.open(agent, project).token


def take_up(board: Board, token: str) -> str | None:
    assignment = board.assignments.current(board.sessions.use(token))
    return assignment.run.id if assignment and assignment.run else None


def report(board: Board, token: str, result: Any) -> str | None:
    task = board.assignments.report(board.sessions.use(token), result)
    return task.id if task else None


def tell_instance(board: Board, agent: str, project: str, instance: str, state: Any) -> str:
    return board.instances.report(agent, project, instance, state).instance.state


def mixed(board: Board, project: str, seed: int, count: int) -> int:
    from mixture import Mixture

    return Mixture(board, project, seed).run(count)


VERBS: dict[str, Callable[..., Any]] = {
    verb.__name__: verb
    for verb in (
        authenticate, open_session, claim_all, start_work, ask_for_worker, depend, put_below, move, add_subtask,
        add_task, init, join_project, accept, log_in, take_up, report, tell_instance, mixed,
    )
}  # fmt: skip


class Worker:
    def __init__(self) -> None:
        self._board: Board | None = None

    def do(self, verb: str, **arguments: Any) -> Any:
        if verb == "open":
            return self._open(**arguments)
        if verb == "open_and_close":
            open_board(**arguments).store.close()
            return None
        assert self._board is not None
        return VERBS[verb](self._board, **arguments)

    def _open(self, database: str, actor: str) -> str:
        if self._board is not None:
            self._board.store.close()
        self._board = open_board(database)
        self._board.store.actor = actor
        return actor


def main() -> None:
    worker = Worker()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        try:
            answer = worker.do(**json.loads(line))
        except KumihimoError as refusal:
            answer = {"refused": refusal.code, "message": str(refusal)}
        except Exception:  # noqa: BLE001 - the outermost loop of a child
            answer = {"crash": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
