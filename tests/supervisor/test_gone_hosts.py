"""A host that is gone: its runs are given up by those who are there, and what it knows when it comes back is kept beside."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kumihimo.domain.host import Awaited
from kumihimo.services.hosts import LEASE
from kumihimo.services.wish import Wish
from kumihimo.settings import Flags, load
from kumihimo.store.executions import Reach
from kumihimo.store.postgres import PostgresConnection
from kumihimo.supervisor import presence
from kumihimo.supervisor.presence import Presence
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.lead.shop import Shop, until


def let_leases_run_out(shop: Shop) -> None:
    """As if nobody had heard of the host for long."""

    def forget(transaction: object) -> None:
        connection = shop.board.store.connection
        connection.execute("UPDATE hosts SET lease_until = 1")
        connection.execute("UPDATE executions SET lease_until = 1 WHERE lease_until IS NOT NULL")

    shop.board.store.write(forget)


@pytest.mark.parametrize("ended", ["before it came back", "after it came back"])
def test_a_run_that_was_given_up_stays_lost_and_what_came_of_it_is_kept_beside(
    database: str, tmp_path: Path, ended: str
) -> None:
    shop = Shop(tmp_path, database)
    try:
        lead, gate = shop.lead(), shop.gate()
        (run,) = lead.run(lead.group(), shop.script("away").wait(gate).say("I went on."))
        until(lambda: shop.records("start", "away"))
        shop.kill_host()
        let_leases_run_out(shop)
        (lost,) = shop.board.executions.lose_expired()
        assert (lost.id, lost.status) == (run, "lost")
        if ended == "before it came back":
            gate.touch()
            until(lambda: shop.records("end", "away"))
        shop.kumi_plain("up", "--detach")
        gate.touch()
        until(lambda: shop.board.executions.show(run).returned)
        state = shop.kumi("run", "show", run)
        assert (state["status"], state["failureReason"]) == ("lost", "lost")
        assert (state["returned"]["exitCode"], state["returned"]["failureReason"]) == (0, None)
        assert state["lastAssistantMessage"] == "I went on."
        assert len(shop.records("start", "away")) == 1
    finally:
        shop.close()


def test_a_host_gives_up_the_runs_of_the_gone_and_of_nobody_else(
    kit: BoardKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, said = kit.board, []
    agent = board.agents.add("coder").agent
    runs = [board.executions.enqueue(Wish(agent, "group")) for _ in range(3)]
    for host, run in zip(("host_here", "host_there", "host_gone"), runs, strict=True):
        claimed = board.executions.claim(host)
        assert claimed is not None
        assert run is not None
        assert claimed.id == run.id
    board.hosts.renew("host_there", "there", 1, timedelta(days=1))
    settings = load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path)
    clock = [1000.0]
    monkeypatch.setattr(presence, "passed", lambda: clock[0])
    here = Presence(settings, board, "host_here", "here", said.append)
    kit.clock.advance(seconds=LEASE.total_seconds() + 1)

    def go_on(seconds: float) -> None:
        """As it does, every ten seconds."""
        for _ in range(int(seconds / 10)):
            clock[0] += 10
            here.renew()

    here.renew()
    # It has come up just now: perhaps nobody could reach the store for a while.
    assert said == []
    go_on(LEASE.total_seconds() - 10)
    here.lost_touch()
    go_on(LEASE.total_seconds())
    assert said == []
    # The machine slept: so may have that of the others.
    clock[0] += 3600
    go_on(LEASE.total_seconds())
    assert said == []
    go_on(20)
    states = [board.executions.show(run.id).status for run in runs if run]
    assert states == ["starting", "starting", "lost"]
    assert len(said) == 1
    assert "host_gone" in said[0]


def test_work_goes_to_a_host_that_has_its_client_and_its_folder(
    kit: BoardKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = kit.board
    monkeypatch.setenv("PATH", "")
    (tmp_path / "config.toml").write_text('[clients.codex]\ncommand = ["/bin/true"]\n')
    settings = load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path)
    here = Presence(settings, board, "host_here", "here", print)
    here.renew()
    agent = board.agents.add("coder").agent

    def taken(client: str, folder: Path) -> bool:
        asked = board.executions.enqueue(Wish(agent, "group", client=client, working_directory=str(folder)))
        assert asked is not None
        claimed = board.executions.claim_some("host_here", 5, fits=here.takes, reach=here.reach)
        return asked.id in {run.id for run in claimed}

    # Alone, everything is ours: somebody has to say what can't be had.
    assert taken("gemini-cli", tmp_path)
    assert taken("codex", tmp_path / "nowhere")
    board.hosts.renew("host_there", "there", 5, timedelta(hours=1), clients=("gemini-cli", "codex"))
    here.renew()
    assert taken("codex", tmp_path)
    assert not taken("gemini-cli", tmp_path)
    assert not taken("codex", tmp_path / "nowhere")
    # What nobody has is ours as well, once everybody has had the time to say what there is.
    assert not taken("opencode", tmp_path)
    kit.clock.advance(seconds=LEASE.total_seconds() + 1)
    here.renew()
    claimed = board.executions.claim_some("host_here", 5, fits=here.takes, reach=here.reach)
    assert [run.client for run in claimed] == ["opencode"]


def test_leases_count_by_the_clock_of_the_database(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where that of this machine is wrong by minutes, or is being set right."""
    url = postgres.new_database()
    connection = PostgresConnection(url)
    try:
        monkeypatch.setattr(time, "time", lambda: 1.0)
        (there,) = connection.execute("SELECT clock_timestamp()")[0]
        assert abs(there - connection.now()) < timedelta(seconds=30)
    finally:
        connection.close()
        postgres.drop(url)


def test_a_host_says_all_that_it_has_only_where_that_has_changed_or_is_not_known(
    kit: BoardKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = kit.board
    said: list[str] = []
    renew, extend = board.hosts.renew, board.hosts.extend

    def told(*words: Any, **having: Any) -> None:
        said.append("all")
        renew(*words, **having)

    def longer(host_id: str, reach: Reach) -> Awaited | None:
        said.append("longer")
        return extend(host_id, reach)

    monkeypatch.setattr(board.hosts, "renew", told)
    monkeypatch.setattr(board.hosts, "extend", longer)
    clock = [1000.0]
    monkeypatch.setattr(presence, "passed", lambda: clock[0])
    here = Presence(load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path), board, "host_here", "here", print)

    def lease() -> Any:
        (view,) = board.hosts.list()
        return view.host.lease_until

    here.renew()
    first = lease()
    kit.clock.advance(seconds=10)
    here.renew()
    assert said == ["all", "longer", "longer"]
    assert (lease() - first).total_seconds() == 10
    said.clear()
    here.renew(draining=True)
    assert board.hosts.list()[0].state == "draining"
    here.renew()
    assert said == ["all", "longer"] * 2
    assert board.hosts.list()[0].state == "alive"
    # Somebody else has forgotten it, or it is an older copy of the board.
    said.clear()
    board.store.write(lambda transaction: transaction.connection.execute("DELETE FROM hosts"))
    here.renew()
    assert said == ["longer", "all", "longer"]
    assert lease() is not None
    # And now and then, whatever was.
    said.clear()
    for _ in range(61):
        clock[0] += 10
        here.renew()
    assert said.count("all") == 1


def test_what_a_host_may_claim_from_now_on_waits_for_it_although_its_lease_did_not_tell(
    kit: BoardKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = kit.board
    monkeypatch.setattr(presence, "found_clients", lambda _: ("codex",))
    here = Presence(load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path), board, "host_here", "here", print)
    here.renew()
    assert here.awaited == Awaited()
    board.hosts.renew("host_there", "there", 5, timedelta(days=1), clients=("claude-code",))
    here.renew()
    here.renew()
    assert here.awaited == Awaited()
    # Not ours, as long as somebody has what it needs.
    board.executions.enqueue(Wish(board.agents.add("coder", client="claude-code").agent, "group"))
    kit.clock.advance(seconds=60)
    here.renew()
    assert here.awaited == Awaited()
    board.hosts.renew("host_there", "there", 5, timedelta(days=1), clients=())
    here.renew()
    assert here.awaited == Awaited(work=True)
