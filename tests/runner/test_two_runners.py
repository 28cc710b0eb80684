"""Two Runners on the same pairs, on either database: no pair is started twice, whoever races or dies."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from kumihimo.domain.errors import AgentBusy, IllegalTransition
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.store import open_store
from kumihimo.testing.boards import BoardKit
from tests.runner.conftest import MakeYard
from tests.runner.yard import logs_in, reports
from tests.supervisor.patience import until

CLIENTS = ("codex", "claude-code", "gemini-cli", "command")


@pytest.mark.parametrize("killed", [False, True], ids=["both live", "one is killed"])
def test_two_runners_do_every_task_once(make_yard: MakeYard, database: str, killed: bool) -> None:
    yard = make_yard(database=database, agents=CLIENTS)
    yard.up()
    gate = yard.folder / "gate"
    script = reports(logs_in(yard.script()).note("in").wait(gate))
    runners = [yard.runner(name, play=script, settings=("max_concurrent = 3",)) for name in ("one", "two")]
    processes = [runner.spawn() for runner in runners]
    tasks = [yard.task(f"{client} {number}", client) for number in range(2) for client in CLIENTS]
    yard.until_records("note", len(CLIENTS))
    if killed:
        yard.kill(processes[0])
    gate.touch()
    if killed:
        # Its agents have ended or will; nobody has seen it. The other may go on once the lease is over.
        ours = [folder.path.name for folder in runners[0].folders()]
        until(lambda: all(folder.ended() for folder in runners[0].folders()), "the agents of the one that was killed")
        yard.pass_lease()
        assert ours
    for task in tasks:
        yard.until_status(task, "done")
    logins = [record for record in yard.records("mcp") if record["tool"] == "authenticate"]
    assert [login["ok"] for login in logins] == [True] * len(tasks)
    assert len(yard.records("start")) == len(tasks)
    if killed:
        runners[0].spawn()
    until(lambda: all(one.state == "exited" for one in yard.instances()), "every end")
    assert {one.outcome for one in yard.instances()} == {"reported"}


def test_of_two_that_begin_at_once_one_is_let_in(kit: BoardKit) -> None:
    """Both were told to start: one has slept over its two minutes."""
    board = kit.board
    project = board.projects.add("shop", "/tmp")
    agent = board.agents.add("dev", client="codex").agent
    board.projects.assign(project.id, agent)
    board.tasks.create(Place(project.id), NewTask("work", status="in_progress", assignee="dev"))
    assert board.instances.should_start(agent.id, project.id).start
    kit.clock.advance(seconds=121)
    assert board.instances.should_start(agent.id, project.id).start

    def begin(number: int) -> bool:
        """At a door of its own."""
        door = Board(open_store(kit.database), kit.clock, Identifiers(os.urandom))
        try:
            return door.instances.report(agent.id, project.id, f"i{number}", "starting").token is not None
        except AgentBusy:
            return False
        finally:
            door.store.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(begin, range(8))) == [False] * 7 + [True]


def test_an_instance_is_held_for_running_while_it_is_heard_of_and_no_longer(kit: BoardKit) -> None:
    board = kit.board
    project = board.projects.add("shop", "/tmp")
    agent = board.agents.add("dev", client="codex", model="gpt-x").agent
    board.projects.assign(project.id, agent)
    board.tasks.create(Place(project.id), NewTask("work", status="in_progress", assignee="dev"))
    verdict = board.instances.should_start(agent.id, project.id)
    assert (verdict.client, verdict.model) == ("codex", "gpt-x")
    first = board.instances.report(agent.id, project.id, "i1", "starting").token
    # Told twice it is the same start.
    assert board.instances.report(agent.id, project.id, "i1", "starting").token != first
    for _ in range(10):
        kit.clock.advance(seconds=100)
        board.instances.report(agent.id, project.id, "i1", "alive")
        assert not board.instances.should_start(agent.id, project.id).start
        assert board.instances.startable_pairs() == []
    kit.clock.advance(seconds=121)
    assert len(board.instances.startable_pairs()) == 1
    board.instances.report(agent.id, project.id, "i1", "exited", exit_code=0)
    with pytest.raises(IllegalTransition):
        board.instances.report(agent.id, project.id, "i1", "starting")
