"""Agents that fail: their pair cools down, their client is parked, and after three silent ends the task waits for a person."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kumihimo.runner.pair import Pair
from kumihimo.runner.patience import Patience
from tests.runner.yard import RunnerHome, Yard, logs_in
from tests.supervisor.patience import until


def forget_patience(runner: RunnerHome) -> None:
    """As if the time of cooling had gone by: nobody waits for a minute in a test."""
    file = runner.home / "runner" / "patience.json"
    kept = json.loads(file.read_text())
    for cooling in kept["pairs"].values():
        cooling["until"] = "2026-01-01T00:00:00Z"
    file.write_text(json.dumps(kept))


def until_delivered(runner: RunnerHome, instances: int) -> None:
    """One that is killed as soon as it has told of an end tells of it once more, so it is counted whose ends were told."""
    until(lambda: len({event["instanceId"] for event in runner.events("delivered")}) == instances)


def test_an_agent_with_a_wrong_passkey_is_refused_and_the_runner_does_not_spin(yard: Yard) -> None:
    task = yard.task()
    runner = yard.runner(play=logs_in(yard.script()).exit(1), passkeys={"codex": "a-wrong-passkey"})
    for number in range(1, 4):
        process = runner.spawn()
        cooling = runner.until_events("cooling", number)
        assert [event["seconds"] for event in cooling] == [60, 120, 240][:number]
        until_delivered(runner, number)
        process.kill()
        process.wait()
        # Started anew, a Runner waits on.
        if number < 3:
            assert runner.spawn("--once").wait(60) == 0
            assert len(yard.records("start")) == number
            # Who looks once is told why nothing begins.
            assert len(runner.events("held")) == number
            forget_patience(runner)
    logins = [record for record in yard.records("mcp") if record["tool"] == "authenticate"]
    assert {json.loads(login["answer"])["error"] for login in logins} == {"Invalid agent_id or passkey"}
    blocked = yard.show(task)
    assert blocked.status == "blocked"
    assert "3 instances ended without a report: exit code 1, exit code 1, exit code 1" in str(blocked.status_reason)
    assert "a-wrong-passkey" not in str(blocked.status_reason)


def test_after_three_silent_ends_the_task_is_blocked_with_the_last_lines(yard: Yard) -> None:
    task = yard.task()
    leak = r"my passkey is {{prompt:passkey: (\S+)}}"
    script = logs_in(yard.script()).say(f"I could not find the database.\n{leak}").errors("Error: disk on fire\n")
    runner = yard.runner(play=script)
    for _ in range(3):
        # It ends well, so nothing cools down: only silence counts.
        assert runner.spawn("--once").wait(60) == 0
    blocked = yard.show(task)
    assert blocked.status == "blocked"
    reason = str(blocked.status_reason)
    assert "I could not find the database." in reason
    assert "Error: disk on fire" in reason
    assert yard.agents["codex"].passkey not in reason
    assert "my passkey is ****" in reason
    assert runner.spawn("--once").wait(60) == 0
    assert len(yard.records("start")) == 3


def test_a_cli_that_is_not_there_blocks_the_task_with_what_to_do(yard: Yard) -> None:
    task = yard.task()
    runner = yard.runner(commands={"codex": ["/nothing/like/codex"]})
    for number in range(3):
        assert runner.spawn("--once").wait(60) == 0
        assert len(runner.events("unstartable")) == number + 1
        forget_patience(runner)
    blocked = yard.show(task)
    assert blocked.status == "blocked"
    assert "/nothing/like/codex is not there" in str(blocked.status_reason)


def test_a_stated_quota_reset_parks_the_client_and_not_the_others(yard: Yard) -> None:
    yard.task()
    runner = yard.runner(play=logs_in(yard.script()).rate_limit("You've hit your usage limit", resets_in=7200))
    assert runner.spawn("--once").wait(60) == 0
    (parked,) = runner.events("parked")
    assert parked["client"] == "codex"
    assert datetime.fromisoformat(parked["until"]) > datetime.now(UTC) + timedelta(minutes=100)
    assert runner.events("cooling") == []
    assert runner.spawn("--once").wait(60) == 0
    assert len(yard.records("start")) == 1


def test_cooling_doubles_up_to_an_hour_and_is_forgotten_by_success(tmp_path: Path) -> None:
    pair, other = Pair("agt_a", "prj_a"), Pair("agt_b", "prj_a")
    at = datetime(2026, 1, 1, tzinfo=UTC)
    patience = Patience(tmp_path / "patience.json")
    assert [patience.failed(pair, at) for _ in range(9)] == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    patience.keep()
    kept = Patience(tmp_path / "patience.json")
    assert kept.holds(pair, None, at + timedelta(seconds=3599))
    assert not kept.holds(pair, None, at + timedelta(seconds=3600))
    assert not kept.holds(other, None, at)
    kept.succeeded(pair)
    assert kept.failed(pair, at) == 60
    # A reset that lies absurdly far away was misread.
    assert kept.park("codex", at + timedelta(days=4000), at) == at + timedelta(days=8)
    assert kept.holds(other, "codex", at)
    (tmp_path / "patience.json").write_text("{half")
    assert not Patience(tmp_path / "patience.json").holds(pair, "codex", at)
