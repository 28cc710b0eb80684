"""A server is gone and another one has taken over at another address: commands find it by themselves."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from kumihimo.domain.errors import StoreNotWritable, StoreOutcomeUnknown, StoreUnreachable
from kumihimo.store import outcomes
from kumihimo.store.bell import bell_of
from kumihimo.store.postgres_address import PostgresAddress
from kumihimo.store.store import connect
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer, Standby
from tests.lead.shop import until
from tests.postgres.line import Cut, Line, name_of, socket_of
from tests.postgres.test_lost_commits import names

Opened = Callable[[str], BoardKit]


class Pair:
    """A server and one that follows it, each behind an address of its own."""

    def __init__(self, server: PostgresServer, standby: Standby, url: str) -> None:
        self.server, self.standby, self.url = server, standby, url
        self.first, self.second = Line(socket_of(url)), Line(standby.socket)
        self.both = (
            f"postgresql://postgres:secret@127.0.0.1:{self.first.port},127.0.0.1:{self.second.port}/{name_of(url)}"
            "?sslmode=disable&gssencmode=disable"
        )

    def fail_over(self) -> None:
        """Nothing that was committed is left behind: that is for who runs the servers to see to."""
        self.wait_until_followed()
        self.server.end("immediate")
        self.standby.take_over()

    def wait_until_followed(self) -> None:
        with psycopg.connect(self.server.url, autocommit=True) as asking:
            until(
                lambda: asking.execute(
                    "SELECT 1 FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_flush_lsn()"
                ).fetchall()
            )


@pytest.fixture
def pair() -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="kumi-pg-") as folder, ExitStack() as stack:
        server = PostgresServer(Path(folder) / "data")
        stack.callback(server.stop)
        url = server.new_database()
        standby = server.new_standby(Path(folder) / "standby")
        stack.callback(standby.stop)
        made = Pair(server, standby, url)
        stack.callback(made.first.close)
        stack.callback(made.second.close)
        yield made


def test_a_board_goes_on_at_the_other_address_and_its_bell_too(pair: Pair, opened: Opened) -> None:
    kit = opened(pair.both)
    kit.board.agents.add("before")
    with closing(bell_of(kit.board.store)) as bell:
        pair.fail_over()
        # That it was cut may be said once.
        until(lambda: _added(kit, "after"))
        until(lambda: not bell.wait(0.15))
        opened(pair.second.url(pair.url)).board.projects.init("/srv/shop", git=False)
        assert bell.wait(30.0)
    assert {"after", "before"} < set(names(kit))


def _added(kit: BoardKit, name: str) -> bool:
    try:
        kit.board.agents.add(name)
    except StoreUnreachable:
        return False
    return True


@pytest.mark.parametrize("how", ["unsent", "unheard"])
def test_a_commit_that_was_cut_by_a_failover_is_looked_up_at_the_other_address(
    pair: Pair, opened: Opened, how: Cut
) -> None:
    kit = opened(pair.both)
    kit.board.agents.add("before")
    pair.first.cut_next_commit(how, meanwhile=pair.fail_over)
    if how == "unheard":
        kit.board.agents.add("cut")
    else:
        with pytest.raises(StoreUnreachable):
            kit.board.agents.add("cut")
    assert pair.first.commits_cut == 1
    assert names(kit) == (["before", "cut"] if how == "unheard" else ["before"])


def test_a_standby_is_not_written_to_and_not_asked_what_became_of_a_commit(
    pair: Pair, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has not yet heard of may be done all the same."""
    monkeypatch.setattr(outcomes, "_PATIENCE_SECONDS", 0.5)
    kit = opened(pair.first.url(pair.url))
    kit.board.agents.add("before")
    pair.wait_until_followed()
    known, pair.first.target = pair.first.target, pair.standby.socket
    pair.first.cut_next_commit("unheard")
    with pytest.raises(StoreOutcomeUnknown, match="standby"):
        kit.board.agents.add("kept")
    with pytest.raises(StoreNotWritable):
        kit.board.agents.add("refused")
    # The same address leads to the server again: no restart is needed.
    pair.first.target = known
    kit.board.agents.add("after")
    assert names(kit) == ["after", "before", "kept"]


def test_of_two_addresses_the_one_that_takes_commands_is_used_whichever_comes_first(pair: Pair, opened: Opened) -> None:
    url = pair.both.replace(f"{pair.first.port},", "PORT,").replace(str(pair.second.port), str(pair.first.port))
    kit = opened(url.replace("PORT", str(pair.second.port)))
    assert kit.board.agents.add("written").agent.name == "written"


def test_every_address_is_shown_and_no_password() -> None:
    url = "postgresql://kumi:secret@one:6543,two/board?sslmode=require&listen=three:1"
    assert PostgresAddress(url).place == "postgresql://one:6543,two:5432/board"
    with pytest.raises(StoreUnreachable) as refused:
        connect("postgresql://kumi:secret@127.0.0.1:1,127.0.0.1:2/board?gssencmode=disable")
    told = str(refused.value)
    assert "127.0.0.1:1,127.0.0.1:2/board" in told
    assert "port 1 failed" in told
    assert "port 2 failed" in told
    assert "secret" not in told
