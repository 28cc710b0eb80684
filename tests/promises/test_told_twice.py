"""A start that a Runner tells twice, because the first answer does not come, is one start."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from kumihimo.app import now
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.store import open_store
from kumihimo.testing.databases import PostgresServer
from tests.supervisor.patience import until

_WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
    "AND backend_type = 'client backend'"
)


def open_door(url: str) -> Board:
    return Board(open_store(url), now, Identifiers(os.urandom))


def test_a_start_told_twice_while_somebody_holds_the_project_is_one_start(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    board, holder = open_door(url), open_door(url)
    project = board.projects.add("shop", "/tmp")
    agent = board.agents.add("dev", client="codex").agent
    board.projects.assign(project.id, agent)
    board.tasks.create(Place(project.id), NewTask("work", status="in_progress", assignee="dev"))
    assert board.instances.should_start(agent.id, project.id).start

    def tell(_: int) -> str | None:
        door = open_door(url)
        try:
            return door.instances.report(agent.id, project.id, "i1", "starting").token
        finally:
            door.store.close()

    with ThreadPoolExecutor(2) as pool:
        holder.store.connection.begin_write()
        holder.store.connection.execute("SELECT 1 FROM projects WHERE id = ? FOR UPDATE", (project.id,))
        told = [pool.submit(tell, number) for number in range(2)]
        until(lambda: board.store.connection.execute(_WAITING)[0][0] == 2, "both")
        holder.store.connection.rollback()
        assert all(one.result(60) for one in told)
    holder.store.close()
    board.store.close()
    postgres.drop(url)
