"""The line is cut at a COMMIT: what became of it is looked up. Done is answered as done, not done is told, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psycopg
import pytest

from kumihimo.domain.errors import StoreOutcomeUnknown, StoreUnreachable
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.upkeep import fold
from kumihimo.store import outcomes
from kumihimo.store.postgres import PostgresConnection
from kumihimo.store.schema import VERSION
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.lead.shop import until
from tests.postgres.line import Cut, Line, socket_of

Opened = Callable[[str], BoardKit]
# Taken by a test that wants a COMMIT to take long.
GATE = 42


def names(kit: BoardKit) -> list[str]:
    return sorted(agent.name for agent in kit.board.agents.list().items)


def ask(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement.encode()).fetchall()


def test_what_was_committed_is_answered_although_the_answer_was_lost(line: Line, url: str, opened: Opened) -> None:
    kit = opened(line.url(url))
    line.cut_next_commit("unheard")
    made = kit.board.agents.add("kept")
    assert line.commits_cut == 1
    assert made.agent.name == "kept"
    assert names(opened(url)) == ["kept"]
    # Done once, and the next command has a connection.
    assert [event.subject for event in kit.board.store.events_after(None)] == [made.agent.id]
    kit.board.agents.add("next")
    assert names(kit) == ["kept", "next"]


@pytest.mark.parametrize("how", ["unsent", "swallowed"])
def test_what_never_reached_the_server_is_told_and_not_there(line: Line, url: str, opened: Opened, how: Cut) -> None:
    kit = opened(line.url(url))
    line.cut_next_commit(how)
    with pytest.raises(StoreUnreachable):
        kit.board.agents.add("lost")
    assert line.commits_cut == 1
    assert names(kit) == []
    assert kit.board.agents.add("lost").agent.name == "lost"


def test_a_command_whose_commit_was_swallowed_holds_nobody_up(line: Line, url: str, opened: Opened) -> None:
    """The server waits for its COMMIT as long as the line seems to be there; what it holds must be given back."""
    kit, other = opened(line.url(url)), opened(url)
    project = kit.board.projects.init("/srv/shop", git=False).project
    line.cut_next_commit("swallowed")
    with pytest.raises(StoreUnreachable):
        kit.board.projects.move(project.id, "pause")
    assert ask(url, "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'") == []
    assert other.board.projects.move(project.id, "pause").status == "paused"


def slow_commits(url: str) -> psycopg.Connection[tuple[object, ...]]:
    """From now on commits of commands wait for the gate, which is the answer."""
    gate = psycopg.connect(url, autocommit=True)
    gate.execute(
        f"CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN PERFORM pg_advisory_xact_lock_shared({GATE}); RETURN NULL; END $$".encode()
    )
    gate.execute(
        "CREATE CONSTRAINT TRIGGER at_gate AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION wait_at_gate()"
    )
    gate.execute(f"SELECT pg_advisory_lock({GATE})".encode())
    return gate


def test_a_commit_that_the_server_is_still_busy_with_is_waited_for(line: Line, url: str, opened: Opened) -> None:
    """To look at once would find nothing, and what was called undone would be done a moment later."""
    kit = opened(line.url(url))
    gate = slow_commits(url)
    line.cut_next_commit("hung up")
    answers: list[str] = []
    adding = threading.Thread(target=lambda: answers.append(kit.board.agents.add("kept").agent.name))
    adding.start()
    # Who looks waits for the lock of the old transaction, which waits for the gate.
    until(
        lambda: ask(
            url, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND mode = 'ExclusiveLock'"
        )
    )
    assert answers == []
    gate.close()
    adding.join(30)
    assert answers == ["kept"]
    assert names(opened(url)) == ["kept"]


def test_a_commit_of_which_nothing_can_be_found_out_is_not_guessed(
    line: Line, url: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "_PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(outcomes, "_LOCK_SECONDS", 1)
    kit = opened(line.url(url))
    gate = slow_commits(url)
    line.cut_next_commit("hung up")
    with pytest.raises(StoreOutcomeUnknown, match="not known"):
        kit.board.agents.add("perhaps")
    gate.close()
    until(lambda: names(kit) == ["perhaps"])


def test_a_server_that_stays_away_leaves_the_outcome_unknown(
    line: Line, url: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "_PATIENCE_SECONDS", 0.5)
    kit = opened(line.url(url))
    known, line.target = line.target, "/nowhere"
    line.cut_next_commit("unheard")
    with pytest.raises(StoreOutcomeUnknown):
        kit.board.agents.add("kept")
    line.target = known
    assert names(kit) == ["kept"]


@pytest.mark.parametrize("how", ["unsent", "unheard"])
def test_a_command_that_wrote_no_event_says_that_its_outcome_is_not_known(
    line: Line, url: str, opened: Opened, how: Cut
) -> None:
    kit = opened(line.url(url))
    line.cut_next_commit(how)
    with pytest.raises(StoreOutcomeUnknown):
        kit.board.store.write(lambda transaction: transaction.meta.keep_first("word", "said"))
    until(lambda: not line.refusing)
    kept = kit.board.store.read(lambda transaction: transaction.meta.get("word"))
    assert kept == ("said" if how == "unheard" else None)


def test_another_command_under_the_same_number_is_not_taken_for_ours(line: Line, url: str, opened: Opened) -> None:
    """As after a crash: numbers that were not yet written down are given out again."""
    kit, other = opened(line.url(url)), opened(url)

    def give_out_again() -> None:
        other.board.store.connection.execute("SELECT setval('events_seq_seq', 1, false)")
        other.board.agents.add("other")

    line.cut_next_commit("unsent", meanwhile=give_out_again)
    with pytest.raises(StoreUnreachable):
        kit.board.agents.add("lost")
    assert [event.cursor for event in other.board.store.events_after(None)] == ["1"]
    assert names(kit) == ["other"]


@pytest.mark.parametrize("ending", ["fast", "immediate"])
@pytest.mark.parametrize("how", ["unsent", "unheard", "swallowed"])
def test_a_server_that_restarts_in_between_is_asked_when_it_is_back(
    own_server: PostgresServer, opened: Opened, how: Cut, ending: str
) -> None:
    url = own_server.new_database()
    line = Line(socket_of(url))
    kit = opened(line.url(url))
    line.cut_next_commit(how, meanwhile=lambda: own_server.restart(ending))
    if how == "unheard":
        kit.board.agents.add("name")
    else:
        with pytest.raises(StoreUnreachable):
            kit.board.agents.add("name")
    assert line.commits_cut == 1
    assert names(kit) == (["name"] if how == "unheard" else [])
    kit.board.store.close()
    line.close()


def test_the_last_of_many_events_is_what_is_looked_for(line: Line, url: str, opened: Opened) -> None:
    kit = opened(line.url(url))
    here = Place(kit.board.projects.init("/srv/shop", git=False).project.id)
    cursor = kit.board.store.newest_cursor()
    line.cut_next_commit("unheard")
    made = kit.board.store.write(lambda _: [kit.board.tasks.create(here, NewTask(f"{n}")).task for n in range(150)])
    assert [task.number for task in made] == list(range(1, 151))
    assert [event.subject for event in kit.board.store.events_after(cursor)] == [task.id for task in made]


def test_a_connection_that_ended_unnoticed_is_replaced_before_anything_is_done(
    line: Line, url: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = opened(line.url(url))
    kit.board.agents.add("before")
    line.cut_all()
    # As if its end had not arrived yet.
    monkeypatch.setattr(PostgresConnection, "_gone", lambda _: False)
    kit.board.agents.add("after")
    assert names(kit) == ["after", "before"]


def test_an_event_that_may_still_be_looked_for_is_not_folded_away(url: str, opened: Opened) -> None:
    kit = opened(url)
    project = kit.board.projects.init("/srv/shop", git=False).project.id
    for move in ("pause", "resume", "pause"):
        kit.board.projects.move(project, move)
    assert fold(kit.board, retention_days=0) == 0
    kit.clock.advance(hours=1)
    assert fold(kit.board, retention_days=0) > 0


@pytest.mark.parametrize("how", ["unsent", "unheard"])
def test_a_migration_whose_commit_was_cut_is_looked_at_again(line: Line, url: str, opened: Opened, how: Cut) -> None:
    line.cut_next_commit(how)
    kit = opened(line.url(url))
    assert line.commits_cut == 1
    kit.board.agents.add("first")
    assert kit.board.store.connection.schema_version() == VERSION
