"""`kill -9` in the middle of anything: what was acknowledged is there, nothing is half there, and the others go on."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import pytest

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.bell import bell_of
from kumihimo.store.feed import Feed
from kumihimo.store.store import Store, open_store
from kumihimo.testing.boards import BoardKit

from .crew import BOUND_SECONDS, Child, Crew
from .replay import log, require_same_board, rows

ROUNDS = 16
# Both are killed in every round, one a little after the other.
WRITERS = 2
Line = dict[str, Any]


@pytest.fixture
def project(kit: BoardKit) -> str:
    return kit.board.projects.init("/srv/shop", git=False).project.id


@pytest.mark.slow
def test_every_acknowledged_command_survives_kills_at_random_moments_and_none_is_half_there(
    kit: BoardKit, database: str, project: str, crew: Crew
) -> None:
    chance = random.Random(20261115)
    other = kit.board.projects.init("/srv/other", git=False).project.id
    bystanders = [{"verb": "mixed", "project": other, "seed": n, "count": 40} for n in range(2)]
    acknowledged: list[Line] = []
    for round_ in range(ROUNDS):
        writers = [Child("writer.py", database, project, f"{round_}-{n}") for n in range(WRITERS)]
        crew.begin(bystanders)
        for writer in writers:
            assert writer.answer() == "ready"
            acknowledged += [writer.answer() for _ in range(chance.randrange(25))]
            # The moment within a command: from none of it to several commands later.
            time.sleep(chance.random() * 0.01)
            acknowledged += writer.kill()
        assert all(done > 0 for done in crew.finish(2))
    let_the_dead_go(kit.board.store)
    require_everything(kit.board.store, acknowledged)
    require_nothing_by_halves(kit.board.store)
    kinds = Counter(line["kind"] for line in acknowledged)
    assert set(kinds) >= {"create", "move", "save", "hand_over", "accept"}
    # The board is as usable as ever.
    assert kit.board.tasks.create(Place(project), NewTask("after")).task.number > kinds["create"]


def let_the_dead_go(store: Store) -> None:
    """PostgreSQL notices that a client is dead when it next listens to it; what it was told before, it still does."""
    if store.connection.dialect.name != "postgres":
        return
    deadline = time.monotonic() + BOUND_SECONDS
    at_work = (
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' "
        "AND pid <> pg_backend_pid() AND state <> 'idle'"
    )
    while store.connection.execute(at_work):
        assert time.monotonic() < deadline, "a dead client's command is still under way"
        time.sleep(0.01)


def require_everything(store: Store, acknowledged: list[Line]) -> None:
    """Every command that a child was told is done can be seen on the board."""
    board = rows(store)
    titles = {(event["id"], event["title"]) for event in values_of(store, "task")}
    saved = Counter(entry["content"] for entry in board["context"].values())
    for line in acknowledged:
        match line["kind"]:
            case "create":
                task = board["task"][line["id"]]
                assert (task["number"], task["depends_on"]) == (line["number"], line["depends_on"])
            case "move":
                assert (line["id"], line["mark"]) in titles
            case "save":
                assert saved[line["mark"]] == 4
            case "hand_over":
                assert board["handoff"][line["id"]]["next_steps"] == [line["mark"]]
            case "accept":
                assert board["handoff"][line["id"]]["accepted_at"] is not None
            case _:
                assert line["kind"] == "refused"


def require_nothing_by_halves(store: Store) -> None:
    """A row has its event, a link its ends, a command of four entries four or none; and the database is whole."""
    require_same_board(store)
    assert store.connection.check() == []
    board = rows(store)
    saved = Counter(entry["content"] for entry in board.get("context", {}).values() if "-" in entry["content"])
    assert set(saved.values()) <= {4}
    numbers = Counter((task["project_id"], task["number"]) for task in board["task"].values())
    assert set(numbers.values()) <= {1}
    orphans = store.connection.execute(
        "SELECT 1 FROM task_dependencies WHERE task_id NOT IN (SELECT id FROM tasks) "
        "OR depends_on_id NOT IN (SELECT id FROM tasks)"
    )
    assert orphans == []


def values_of(store: Store, noun: str) -> list[Any]:
    import msgspec

    return [msgspec.json.decode(event.data) for event in log(store) if event.noun == noun]


BEFORE_THE_COMMIT = ("after_begin", "after_row", "after_dependency", "after_event", "before_commit")
BEHIND_THE_COMMIT = ("after_commit", "after_ring")


def stopped_at(database: str, project: str, point: str) -> Child:
    child = Child("writer.py", database, project, "stopped", point)
    assert child.answer() == "ready"
    assert child.answer() == {"at": point}
    return child


@pytest.mark.parametrize("point", BEFORE_THE_COMMIT)
def test_killed_before_the_commit_nothing_is_there_and_the_next_in_line_goes_on(
    kit: BoardKit, database: str, project: str, crew: Crew, point: str
) -> None:
    child = stopped_at(database, project, point)
    before = rows(kit.board.store)
    # This one wants the same project while the dead command still holds it.
    crew.begin([{"verb": "add_subtask", "project": project, "parent": "1"}])
    assert child.kill() == []
    crew.finish(1)
    let_the_dead_go(kit.board.store)
    after = rows(kit.board.store)
    titles = [task["title"] for task in after["task"].values()]
    assert sorted(titles) == ["one", "part", "two"]
    assert {task["number"] for task in after["task"].values()} == {1, 2, 3}
    assert {noun: values for noun, values in after.items() if noun != "task"} == {
        noun: values for noun, values in before.items() if noun != "task"
    }
    require_nothing_by_halves(kit.board.store)


@pytest.mark.parametrize("point", BEHIND_THE_COMMIT)
def test_killed_behind_the_commit_everything_is_there(
    kit: BoardKit, database: str, project: str, crew: Crew, point: str
) -> None:
    child = stopped_at(database, project, point)
    child.kill()
    let_the_dead_go(kit.board.store)
    crew.together([{"verb": "add_subtask", "project": project, "parent": "1"}])
    board = rows(kit.board.store)
    stopped = next(task for task in board["task"].values() if task["title"] == "stopped")
    assert len(stopped["depends_on"]) == 2
    require_nothing_by_halves(kit.board.store)


def test_a_reader_sees_what_was_committed_by_a_process_that_died_before_it_could_ring(
    kit: BoardKit, database: str, project: str
) -> None:
    reader = open_store(database)
    bell = bell_of(reader)
    feed = Feed(reader, bell, reader.newest_cursor())
    child = stopped_at(database, project, "after_commit")
    child.kill()
    seen: list[str] = []
    while "stopped" not in seen:
        events = feed.next(30.0)
        assert events, "the event did not come"
        seen += [value["title"] for value in values_of(reader, "task")]
    bell.close()
    reader.close()


def test_a_reader_that_is_killed_holds_nobody_up(kit: BoardKit, database: str, project: str, crew: Crew) -> None:
    """A child that dies between its commands leaves no lock behind."""
    child = Child("writer.py", database, project, "short")
    assert child.answer() == "ready"
    child.answer()
    child.kill()
    let_the_dead_go(kit.board.store)
    answers = crew.together([{"verb": "mixed", "project": project, "seed": n, "count": 10} for n in range(4)])
    assert all(done > 0 for done in answers)
    require_nothing_by_halves(kit.board.store)
