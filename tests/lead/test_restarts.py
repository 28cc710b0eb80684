"""A supervisor that dies takes nothing with it: whoever waits starts another, and agents never notice."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from tests.lead.conftest import OpenShop
from tests.lead.shop import until
from tests.supervisor.patience import hold_still


def test_an_agent_reports_to_the_same_address_after_the_host_was_killed(open_shop: OpenShop) -> None:
    shop = open_shop()
    lead, gate = shop.lead(), shop.gate()
    (run,) = lead.run(lead.group(), shop.script("patient").wait(gate).report_result(seconds=60.0))
    until(lambda: shop.records("start", "patient"))
    killed = shop.kill_host()
    asked = lead.send_call("wait_agent", agentIds=[run])
    started = until(lambda: shop.host)
    assert (started.port, started.process != killed.process) == (killed.port, True)
    gate.touch()
    answer = lead.receive()
    assert answer["id"] == asked
    (done,) = answer["result"]["structuredContent"]["completed"]
    assert (done["status"], done["result"]["status"]) == ("resultReported", "success")
    (state,) = lead.ended(run)
    assert (state["exitCode"], len(shop.records("start", "patient"))) == (0, 1)


def test_what_ended_while_nobody_watched_is_known_to_the_next_supervisor(open_shop: OpenShop) -> None:
    shop = open_shop()
    lead, gate = shop.lead(), shop.gate()
    good, bad = lead.run(
        lead.group(),
        shop.script("good").wait(gate).write("made.txt", "x").say("Done."),
        shop.script("bad").wait(gate).exit(7),
    )
    until(lambda: shop.records("start", "good") and shop.records("start", "bad"))
    shop.kill_host()
    gate.touch()
    until(lambda: shop.records("end", "good") and shop.records("end", "bad"))
    assert shop.host is None
    assert lead.status(good)["status"] == "running"
    lead.wait(good, bad)
    states = lead.ended(good, bad)
    assert [(state["status"], state["exitCode"]) for state in states] == [("completed", 0), ("failed", 7)]
    assert states[0]["createdFiles"] == [str(shop.folder / "made.txt")]
    assert states[0]["lastAssistantMessage"] == "Done."


def test_a_host_that_dies_while_somebody_waits_is_replaced(open_shop: OpenShop) -> None:
    shop = open_shop()
    lead, gate = shop.lead(), shop.gate()
    (run,) = lead.run(lead.group(), shop.script("watched").wait(gate))
    asked = lead.send_call("wait_agent", agentIds=[run])
    until(lambda: shop.records("start", "watched"))
    for _ in range(2):
        shop.kill_host()
        until(lambda: shop.host)
    gate.touch()
    answer = lead.receive()
    assert (answer["id"], answer["result"]["structuredContent"]["pending"]) == (asked, [])


def test_a_host_that_dies_while_a_command_line_waits_is_replaced(open_shop: OpenShop) -> None:
    shop = open_shop()
    lead, gate = shop.lead(), shop.gate()
    (run,) = lead.run(group := lead.group(), shop.script("watched").wait(gate))
    until(lambda: shop.records("start", "watched"))
    waiting = subprocess.Popen(
        [sys.executable, "-m", "kumihimo", "group", "wait", group, "--timeout", "60"], cwd=shop.folder,
        env=shop.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        # Its bell is there: it has begun to wait while the host lives.
        until(lambda: _holds_open(waiting.pid, "anon_inode:inotify"))
        shop.kill_host()
        gate.touch()
        assert waiting.wait(60) == 0
        assert lead.status(run)["status"] == "completed"
    finally:
        waiting.kill()
        waiting.communicate()


def _holds_open(pid: int, name: str) -> bool:
    return any(_target(link) == name for link in Path(f"/proc/{pid}/fd").iterdir())


def _target(link: Path) -> str | None:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        # It was closed between two looks.
        return None


def test_an_agent_that_nobody_started_yet_is_started_by_the_next_host(open_shop: OpenShop) -> None:
    shop = open_shop()
    lead = shop.lead()
    (first,) = lead.run(lead.group(), shop.script())
    lead.ended(first)
    # Held still, it claims nothing, and then it is dead.
    hold_still(shop.board.store, until(lambda: shop.host).process.pid)
    (run,) = lead.run(lead.group(), shop.script("waiting"))
    shop.kill_host()
    assert (lead.status(run)["status"], shop.records("start", "waiting")) == ("queued", [])
    assert lead.wait(run)["completed"][0]["status"] == "completed"
    assert len(shop.records("start", "waiting")) == 1


def test_a_stage_goes_on_under_another_host(open_shop: OpenShop) -> None:
    shop = open_shop()
    lead, gate = shop.lead(), shop.gate()
    planned = lead.plan(lead.group("sequential"), [shop.script("before").wait(gate)], [shop.script("after")])
    until(lambda: shop.records("start", "before"))
    shop.kill_host()
    gate.touch()
    second = planned["stages"][1]["agentIds"][0]
    assert lead.wait(second)["completed"][0]["status"] == "completed"
    assert (len(shop.records("start", "before")), len(shop.records("start", "after"))) == (1, 1)


def test_cancelling_works_where_the_host_has_died(open_shop: OpenShop) -> None:
    shop = open_shop()
    lead = shop.lead()
    (run,) = lead.run(lead.group(), shop.script("stuck").hang())
    until(lambda: shop.records("start", "stuck"))
    shop.kill_host()
    assert lead.call("cancel_agent", agentId=run).data == {"cancelled": True, "agentId": run, "survivors": []}


def test_a_host_that_an_agent_started_outlives_that_agent(open_shop: OpenShop) -> None:
    shop = open_shop()
    lead, begin, end, ready = shop.lead(), shop.gate(), shop.gate(), shop.gate()
    (other,) = lead.run(group := lead.group(), shop.script("other").wait(end))
    waiting = shlex.join([sys.executable, "-m", "kumihimo", "group", "wait", group, "--timeout", "2"])
    script = shop.script("starter").wait(begin).shell(waiting).touch(ready).hang()
    (run,) = lead.run(lead.group(), script)
    until(lambda: shop.records("start", "starter") and shop.records("start", "other"))
    shop.kill_host()
    begin.touch()
    host = until(lambda: shop.host)
    until(ready.exists)
    assert lead.call("cancel_agent", agentId=run)["cancelled"] is True
    assert host.alive
    end.touch()
    assert lead.wait(other)["completed"][0]["status"] == "completed"
