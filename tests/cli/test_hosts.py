"""`kumi host ls`: who shares this board, and what each has."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from tests.lead.shop import Shop, until, wish


def test_a_home_that_is_up_is_a_host_with_what_it_has_and_drains_when_it_goes(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path, database, max_concurrent=3)
    try:
        with (shop.home / "config.toml").open("a") as settings:
            settings.write('[host]\nname = "forge"\nlabels = ["gpu", "fast"]\n')
        assert shop.kumi("host", "ls") == {"hosts": []}
        shop.kumi_plain("up", "--detach")
        (host,) = until(lambda: shop.kumi("host", "ls")["hosts"])
        promised = {"id", "name", "state", "labels", "clients", "slots", "running", "leaseUntil"}
        assert promised | {"memory", "projects", "url"} == set(host)
        assert host["memory"] > 0
        assert host["projects"] == [shop.project.id]
        assert (host["name"], host["state"], host["slots"], host["running"]) == ("forge", "alive", 3, 0)
        assert host["labels"] == ["gpu", "fast"]
        assert {"claude-code", "codex", "gemini-cli"} <= set(host["clients"])
        lead, gate = shop.lead(), shop.gate()
        (run,) = lead.run(lead.group(), shop.script().wait(gate))
        until(lambda: shop.kumi("host", "ls")["hosts"][0]["running"] == 1)
        gate.touch()
        lead.ended(run)
        shop.kumi_plain("down")
        assert shop.kumi("host", "ls")["hosts"][0]["state"] == "draining"
        shop.board.hosts.renew("host_old", "attic", 5, timedelta(seconds=-1))
        assert {it["name"]: it["state"] for it in shop.kumi("host", "ls")["hosts"]}["attic"] == "gone"
    finally:
        shop.close()


@pytest.mark.parametrize("ending", ["when its runs are over", "when it is told again", "when the time is up"])
def test_a_host_that_may_wait_ends_with_its_runs(database: str, tmp_path: Path, ending: str) -> None:
    shop = Shop(tmp_path, database)
    try:
        with (shop.home / "config.toml").open("a") as settings:
            settings.write(f"[host]\ndrain_seconds = {1 if ending == 'when the time is up' else 600}\n")
        shop.kumi_plain("up", "--detach")
        lead, gate = shop.lead(), shop.gate()
        (run,) = lead.run(lead.group(), shop.script("old").wait(gate).say("I was let finish."))
        until(lambda: shop.records("start", "old"))
        running = shop.host
        assert running is not None
        os.kill(running.process.pid, signal.SIGTERM)
        until(lambda: shop.kumi("host", "ls")["hosts"][0]["state"] == "draining")
        if ending == "when the time is up":
            until(lambda: not running.alive)
            assert shop.board.executions.show(run).status == "running"
            return
        # Nothing new is begun, and the door is open as before.
        lead.call("run_agents", groupId=lead.group(), agents=[wish(shop.script("new"))])
        assert running.alive
        if ending == "when it is told again":
            os.kill(running.process.pid, signal.SIGTERM)
        else:
            gate.touch()
            until(lambda: shop.board.executions.show(run).status == "completed")
        until(lambda: not running.alive)
        assert shop.records("start", "new") == []
        assert shop.board.executions.show(run).status == (
            "running" if ending == "when it is told again" else "completed"
        )
    finally:
        shop.close()
