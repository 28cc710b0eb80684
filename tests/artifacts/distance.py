"""Two hosts that are far from each other, although they are not: what a run of one has written is not at its path here."""

from __future__ import annotations

import json
from typing import Any

from kumihimo.domain.execution import Execution
from kumihimo.services.board import Board
from kumihimo.testing.scripts import Script
from tests.doors.house import Entrance
from tests.supervisor.home import Home
from tests.supervisor.patience import until


def move_away(board: Board, run: Execution) -> None:
    """As if its host were another machine: the path at which its log lies is nothing here."""
    execute(board, "UPDATE executions SET log_path = ? WHERE id = ?", f"/nowhere/runs/{run.id}/out", run.id)


def execute(board: Board, sql: str, *values: Any) -> None:
    board.store.write(lambda _: board.store.connection.execute(sql, values))


class Pair:
    """Two doors on one board; `home` is where runs are asked for, whichever host takes them."""

    def __init__(self, doors: list[Entrance]) -> None:
        self.doors = doors
        self.home: Home = doors[0].home

    def begin(self, script: Script) -> Execution:
        """A run that has begun, far from whoever is not its host."""
        (run,) = self.home.run(script)
        # It may be over by then.
        until(lambda: self.home.show(run).started_at, "the start")
        move_away(self.home.board, run)
        return self.home.show(run)

    def done(self, script: Script) -> Execution:
        """The same, when it is over and its proof is made."""
        run = self.begin(script)
        self.home.ended([run])
        folder = self.host_of(run).home.run_folder(run)
        until(lambda: (folder.path / "proof.json").exists(), "the proof")
        return self.home.show(run)

    def host_of(self, run: Execution) -> Entrance:
        return next(door for door in self.doors if door.host_id == run.host_id)

    def other_than(self, run: Execution) -> Entrance:
        return next(door for door in self.doors if door.host_id != run.host_id)

    def name_of(self, door: Entrance) -> str:
        return ("one", "two")[self.doors.index(door)]


def answer_of(door: Entrance, operation: str, **arguments: Any) -> Any:
    answer = door.api(operation, door.token, **arguments)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def refusal_of(door: Entrance, operation: str, language: str = "en", **arguments: Any) -> tuple[int, str, str]:
    """The status, the code and the text."""
    headers = {"accept-language": language}
    answer = door.ask("POST", f"/api/v1/{operation}", door.token, arguments, **headers)
    told = json.loads(answer.body)["error"]
    return answer.status, told["code"], told["message"]
