"""A disk that is full or a database that is away for a moment: the supervisor waits, and everything ends right."""

from __future__ import annotations

import psycopg
import pytest

from kumihimo.testing.databases import PostgresServer

from . import cast
from .conftest import MakeHome
from .home import Home
from .patience import until

pytestmark = pytest.mark.slow
_SUPERVISOR = "kumihimo.supervisor.supervisor:Supervisor"
_RUNS = "kumihimo.services.executions:Executions"

# From where on three commits fail.
COMMITS = {
    "when it begins": f"{_SUPERVISOR}._take_over",
    "when it claims": f"{_RUNS}.claim_some",
    "when it notes starts": f"{_RUNS}.start",
    "when it notes what it saw": f"{_RUNS}.observe",
    "when it notes ends": "kumihimo.supervisor.finishing:Finisher.finish",
}
# What finds the store away, in the middle of many.
READS = {
    "before a launch": "kumihimo.services.agents:Agents.show",
    "at the question what waits": f"{_RUNS}.waiting",
    "at the question who is to be stopped": f"{_RUNS}.to_be_stopped",
    "when it renews its lease": "kumihimo.services.hosts:Hosts.renew",
    "when it takes over": "kumihimo.services.hosts:Hosts.owned",
}


def play(home: Home, **order: object) -> None:
    gate = home.folder / "gate"
    runs = cast.begin(home, gate)
    supervisor = home.supervisor(**order)
    home.until_records("start", cast.SIZE)
    gate.touch()
    cast.require_all(home, runs)
    assert supervisor.poll() is None
    assert "the store can't be used" in home.said


@pytest.mark.parametrize("when", COMMITS)
@pytest.mark.parametrize("kind", ["full", "gone"])
def test_commits_that_fail_for_a_while_cost_nothing_but_time(home: Home, when: str, kind: str) -> None:
    play(home, trouble={"commits": 3, "since": COMMITS[when], "kind": kind})


@pytest.mark.parametrize("when", COMMITS)
def test_connections_that_are_cut_at_commits_cost_nothing_but_time(
    make_home: MakeHome, postgres: PostgresServer, when: str
) -> None:
    """Before the word was out, or before the answer came: what was done is known, and not done again."""
    play(make_home(database=postgres.new_database()), trouble={"commits": 4, "since": COMMITS[when], "kind": "cut"})


@pytest.mark.parametrize("when", READS)
def test_a_store_that_is_away_for_a_moment_costs_nothing_but_time(home: Home, when: str) -> None:
    play(home, failing=[{"at": READS[when], "times": 2}])


def test_a_wish_to_stop_that_comes_while_the_store_is_away_is_heard_later(home: Home) -> None:
    home.supervisor(failing=[{"at": f"{_RUNS}.to_be_stopped", "times": 3}])
    (run,) = home.run(home.script("one").hang())
    home.until_records("start", 1)
    home.board.executions.stop(run.id)
    (ended,) = home.ended([run])
    assert (ended.status, ended.survivors) == ("cancelled", ())


def test_what_was_seen_while_the_store_was_away_is_shown_when_it_is_back(home: Home) -> None:
    """Also where the agent says nothing more."""
    home.supervisor(failing=[{"at": f"{_RUNS}.observe", "times": 2}])
    (run,) = home.run(home.script("one").say("hello").hang())
    until(lambda: home.seen(run).last_message == "hello", "what it said")


def test_connections_that_the_database_cut_are_made_anew(make_home: MakeHome, postgres: PostgresServer) -> None:
    url = postgres.new_database()
    home = make_home(database=url)
    supervisor = home.supervisor()
    gate = home.folder / "gate"
    runs = cast.begin(home, gate)
    home.until_records("start", cast.SIZE)
    with psycopg.connect(url, autocommit=True) as connection:
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> ALL(%s)"
        ours = home.board.store.connection._database.info.backend_pid  # type: ignore[attr-defined]
        connection.execute(cut, ([connection.info.backend_pid, ours],))
    gate.touch()
    cast.require_all(home, runs)
    (late,) = home.run(home.script("late").say("hello"))
    assert home.ended([late])[0].status == "completed"
    assert supervisor.poll() is None
