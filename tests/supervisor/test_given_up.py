"""A run that was given up before its host could write down that it had started."""

from __future__ import annotations

import pytest

from kumihimo.domain.execution import Execution

from .home import Home
from .patience import until


@pytest.fixture
def home(either_home: Home) -> Home:
    return either_home


def give_up(home: Home, run: Execution) -> None:
    """As others do when they have not heard of the host for long."""

    def forget(_: object) -> None:
        connection = home.board.store.connection
        connection.execute("UPDATE hosts SET lease_until = 1")
        connection.execute("UPDATE executions SET lease_until = 1 WHERE lease_until IS NOT NULL")

    home.board.store.write(forget)
    assert [lost.id for lost in home.board.executions.lose_expired()] == [run.id]


def test_what_it_printed_can_be_read_when_its_host_is_heard_of_again(home: Home) -> None:
    go = home.folder / "go"
    home.supervisor(pauses=[{"at": "kumihimo.supervisor.starter:Starter.note", "file": str(go)}])
    (run,) = home.run(home.script("one").say("hello"))
    home.until_records("end", 1)
    give_up(home, run)
    go.touch()
    until(lambda: home.show(run).returned, "what its host knows")
    assert home.show(run).status == "lost"
    assert sum('"hello"' in line for line in home.lines(run)) == 1
    assert home.seen(run).lines == len(home.lines(run))
