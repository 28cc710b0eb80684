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
    gate = home.folder / "gate"
    (run,) = home.run(home.script("one").say("hello").wait(gate))
    home.until_records("start", 1)
    give_up(home, run)
    gate.touch()
    home.until_records("end", 1)
    go.touch()
    until(lambda: home.show(run).returned, "what its host knows")
    assert home.show(run).status == "lost"
    assert sum('"hello"' in line for line in home.lines(run)) == 1
    assert home.seen(run).lines == len(home.lines(run))


def test_an_agent_has_started_when_it_began_and_not_when_that_was_written_down(home: Home) -> None:
    go = home.folder / "go"
    home.supervisor(pauses=[{"at": "kumihimo.supervisor.starter:Starter.note", "file": str(go)}])
    (run,) = home.run(home.script("one").wait(home.folder / "gate"))
    home.until_records("start", 1)
    known = home.board.clock()
    assert home.show(run).status == "starting"
    go.touch()
    started = until(lambda: home.show(run).started_at, "the word that it has started")
    assert started < known
    (home.folder / "gate").touch()
    assert until(lambda: not home.show(run).live and home.show(run)).status == "completed"


def test_no_line_counts_that_nobody_can_read(home: Home) -> None:
    """It was given up before it was on the board where it prints, and its agent goes on."""
    go, gate = home.folder / "go", home.folder / "gate"
    home.supervisor(pauses=[{"at": "kumihimo.supervisor.starter:Starter.note", "file": str(go)}])
    (run,) = home.run(home.script("one").say("hello").note("said").wait(gate))
    home.until_records("note", 1)
    give_up(home, run)
    go.touch()
    # Streams were looked at when another one was followed from its beginning to its end.
    (other,) = home.run(home.script("two"))
    home.ended([other])
    seen = home.seen(run)
    assert (seen.lines if seen else 0, home.lines(run)) == (0, [])
    gate.touch()
    until(lambda: home.show(run).returned, "what its host knows")
    assert home.seen(run).lines == len(home.lines(run)) > 0
