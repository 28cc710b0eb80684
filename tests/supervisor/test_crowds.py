"""Many hosts on one board: nobody is woken by everybody, and nothing waits for long."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from kumihimo.settings import Flags, load
from kumihimo.supervisor.presence import RENEW_SECONDS, Presence
from kumihimo.supervisor.wake import CROWD
from kumihimo.testing.boards import BoardKit
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
    # What was seen is written down now and then, and all of it with the end.
    assert [home.seen(run).last_message for run in runs] == ["hello"] * 3
    (late,) = home.run(home.script("late").hang())
    home.until_records("start", 4)
    home.board.executions.stop(late.id)
    assert home.ended([late])[0].status == "cancelled"


def test_who_is_among_few_again_listens_again(make_home: MakeHome, postgres: PostgresServer) -> None:
    url = postgres.new_database()
    home = make_home(database=url)
    crowd(home, timedelta(hours=1))
    home.supervisor(counting=1.0)
    until(lambda: len(home.board.hosts.alive()) == CROWD + 1, "the supervisor")
    until(lambda: listeners(url) == 0, "silence")
    crowd(home, timedelta(seconds=-1))
    until(lambda: listeners(url) == 1, "an ear")


@pytest.mark.parametrize(("hosts", "between"), [(CROWD + 1, True), (799, True), (1_000, False)])
def test_so_many_that_their_leases_are_looks_enough_do_not_look_in_between(
    kit: BoardKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: int, between: bool
) -> None:
    monkeypatch.setattr(kit.board.hosts, "count_alive", lambda: hosts)
    here = Presence(load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path), kit.board, "host_here", "here", print)
    here.renew()
    assert here.crowded
    assert here.looks_between is between
    pauses = {here.pause for _ in range(20)}
    assert len(pauses) > 1
    assert all(0.9 <= pause / RENEW_SECONDS <= 1.1 for pause in pauses)
