"""A limit of a vendor parks its client until it ends, where that was told; others go on."""

from __future__ import annotations

from kumihimo.app import now

from .home import Home
from .patience import until


def test_a_client_whose_limit_ends_much_later_waits_while_others_go_on(home: Home) -> None:
    home.supervisor()
    (limited,) = home.run(home.script("limited").rate_limit(resets_in=3_600))
    (ended,) = home.ended([limited])
    assert (ended.status, ended.failure_reason) == ("failed", "rate_limited")
    until_ = home.board.hosts.parked()["codex"]
    assert (until_ - now()).total_seconds() > 1_800
    (waits,) = home.run(home.script("waits"))
    others = [home.run(home.script(f"other-{n}"), role="claude-code")[0] for n in range(3)]
    assert [run.status for run in home.ended(others)] == ["completed"] * 3
    assert home.show(waits).status == "queued"
    assert home.records("start", "waits") == []


def test_a_client_whose_limit_ends_soon_starts_again_after_it(home: Home) -> None:
    home.supervisor()
    (limited,) = home.run(home.script("limited").rate_limit(resets_in=3), role="claude-code")
    (ended,) = home.ended([limited])
    assert ended.failure_reason == "rate_limited"
    ends = home.board.hosts.parked()["claude-code"]
    (waits,) = home.run(home.script("waits"), role="claude-code")
    assert home.ended([waits])[0].status == "completed"
    (start,) = home.records("start", "waits")
    assert start["time"] >= ends.timestamp()


def test_a_limit_without_an_end_parks_nobody(home: Home) -> None:
    home.supervisor()
    (limited,) = home.run(home.script("limited").rate_limit())
    assert home.ended([limited])[0].failure_reason == "rate_limited"
    assert home.board.hosts.parked() == {}
    (next_,) = home.run(home.script("next"))
    assert home.ended([next_])[0].status == "completed"


def test_a_missing_login_is_told_and_parks_nobody(home: Home) -> None:
    home.supervisor()
    (run,) = home.run(home.script("one").auth_failure())
    assert home.ended([run])[0].failure_reason == "auth"
    assert home.board.hosts.parked() == {}


def test_a_client_that_is_not_there_is_a_failed_start_that_says_so(home: Home) -> None:
    home.board.agents.add("nobody", client="opencode")
    home.supervisor()
    (run,) = home.run(home.script("one"), role="nobody")
    (ended,) = home.ended([run])
    assert (ended.status, ended.failure_reason) == ("failed", "spawn_failed")
    assert "opencode" in str(ended.error)
    assert until(lambda: home.holding_slots() == 0, "the slot")
