"""Many hosts on one board: nobody is woken by everybody, and nothing waits for long."""

from __future__ import annotations

from datetime import timedelta

import psycopg

from kumihimo.supervisor.wake import CROWD
from kumihimo.testing.databases import PostgresServer

from .conftest import MakeHome
from .home import Home
from .patience import until


def listeners(url: str) -> int:
    """How many connections hear what happens."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        ).fetchone()
    assert found is not None
    return found[0]


def crowd(home: Home, lease: timedelta) -> None:
    """Others that are there, and have nothing that anybody needs."""
    for number in range(CROWD):
        home.board.hosts.renew(f"host_{number}", f"other-{number}", 1, lease)


def test_among_many_hosts_nobody_listens_and_work_is_found_all_the_same(
    make_home: MakeHome, postgres: PostgresServer
) -> None:
    url = postgres.new_database()
    home = make_home(database=url)
    crowd(home, timedelta(hours=1))
    home.supervisor()
    until(lambda: len(home.board.hosts.alive()) == CROWD + 1, "the supervisor")
    until(lambda: listeners(url) == 0, "silence")
    runs = home.run(*(home.script(f"agent-{number}").say("hello") for number in range(3)))
    assert [run.status for run in home.ended(runs)] == ["completed"] * 3
    (late,) = home.run(home.script("late").hang())
    home.until_records("start", 4)
    home.board.executions.stop(late.id)
    assert home.ended([late])[0].status == "cancelled"


def test_who_is_among_few_again_listens_again(make_home: MakeHome, postgres: PostgresServer) -> None:
    url = postgres.new_database()
    home = make_home(database=url)
    crowd(home, timedelta(hours=1))
    home.supervisor()
    until(lambda: len(home.board.hosts.alive()) == CROWD + 1, "the supervisor")
    until(lambda: listeners(url) == 0, "silence")
    crowd(home, timedelta(seconds=-1))
    until(lambda: listeners(url) == 1, "an ear")
