"""`kill -9` of a Runner at named points: the work is done once, by the next Runner of its home or by what it had started."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct

from tests.runner.conftest import MakeYard
from tests.runner.yard import Yard, logs_in, reports
from tests.supervisor.patience import until

_RUNNER = "kumihimo.runner.runner:Runner"
_MAIL = "kumihimo.runner.mail:Mail"
_RECORDS = "kumihimo.runner.records:Records"


class Point(Struct, frozen=True):
    """`lease`: the server is only certain that nothing was started once two minutes have gone by."""

    name: str
    at: str
    when: str = "before"
    lease: bool = False


POINTS = [
    Point("told to start, nothing written", f"{_RECORDS}.begin", lease=True),
    Point("written, and the server not told", f"{_RECORDS}.note_told", lease=True),
    Point("before the start is told", f"{_RUNNER}._announce"),
    Point("the start is told", f"{_RUNNER}._launch"),
    Point("the folder is prepared", "kumihimo.engine.processes.nursery:Nursery.launch"),
    Point("the shell is told half of it", "kumihimo.engine.processes.nursery:Shell.tell", "half"),
    Point("the shell is told", "kumihimo.engine.processes.nursery:Nursery.launch", "after"),
    Point("started, and not followed", "kumihimo.runner.following:Following.follow"),
    Point("while it is alive", "kumihimo.runner.following:Following._say_alive"),
    Point("between its end and the report", f"{_MAIL}.send"),
    Point("the report is on disk", f"{_MAIL}.send", "after"),
    Point("the server has the report, and we do not know", f"{_MAIL}._done"),
    Point("the report is delivered, and stays", "kumihimo.runner.outbox:Outbox.delivered"),
]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_the_work_of_a_runner_that_is_killed_is_done_once(yard: Yard, point: Point) -> None:
    task = yard.task()
    runner = yard.runner(play=reports(logs_in(yard.script())))
    doomed = runner.spawn(kills=[{"at": point.at, "when": point.when, "passing": 1}])
    assert doomed.wait(60) == -9

    if point.lease:
        yard.pass_lease()
    process = runner.spawn()
    yard.until_status(task, "done")
    until(lambda: all(one.state == "exited" for one in yard.instances()), "every end")
    assert process.poll() is None
    assert len(yard.records("start")) == 1
    logins = [record for record in yard.records("mcp") if record["tool"] == "authenticate"]
    assert [login["ok"] for login in logins] == [True]
    (reported,) = [one for one in yard.instances() if one.outcome == "reported"]
    assert (reported.exit_code, reported.signal) == (0, None)
    until(lambda: list((runner.home / "runner" / "outbox").glob("*")) == [], "the outbox")


def test_an_agent_outlives_its_runner_and_the_next_one_learns_its_exit_code(yard: Yard) -> None:
    gate = yard.folder / "gate"
    task = yard.task()
    runner = yard.runner(play=logs_in(yard.script()).note("in").wait(gate).exit(7))
    first = runner.spawn()
    yard.until_records("note")
    yard.kill(first)
    # It ends while nobody is there.
    gate.touch()
    yard.until_records("end")
    until(lambda: runner.folders()[0].ended(), "the exit code")
    runner.spawn()
    (instance,) = yard.until_instances(lambda found: found[0].state == "exited")
    assert (instance.exit_code, instance.outcome) == (7, "silent")
    assert [event["instanceId"] for event in runner.until_events("adopted")] == [instance.id]
    assert yard.show(task).status == "in_progress"


def test_a_runner_that_dies_with_its_work_half_done_is_replaced_by_another_after_the_lease(make_yard: MakeYard) -> None:
    yard = make_yard()
    yard.up()
    task = yard.task()
    script = reports(logs_in(yard.script()))
    first, second = (yard.runner(name, play=script) for name in ("first", "second"))
    assert first.spawn(kills=[{"at": f"{_RUNNER}._launch", "when": "before", "passing": 1}]).wait(60) == -9
    second.spawn()
    second.until_events("connected")
    # The place is held for the first, which may come back.
    assert not yard.board.instances.should_start(yard.agents["codex"].agent.id, yard.project.id).start
    assert yard.records("start") == []
    yard.pass_lease()
    yard.until_status(task, "done")
    assert len(yard.records("start")) == 1
    # Now it does come back: what it was about to start is not started.
    first.spawn()
    until(lambda: all(one.state == "exited" for one in yard.instances()), "every end")
    assert len(yard.records("start")) == 1


def test_what_comes_late_does_not_end_the_session_of_who_took_its_place(yard: Yard) -> None:
    """The wrapper of the first is held still until the second has logged in."""
    gate = yard.folder / "gate"
    task = yard.task()
    first = yard.runner("first", play=yard.script(name="first").wait(yard.folder / "never"))
    second = yard.runner("second", play=reports(logs_in(yard.script(name="second")).note("in").wait(gate)))
    process = first.spawn()
    yard.until_records("start")
    yard.kill(process)
    yard.pass_lease()
    second.spawn()
    yard.until_records("note")
    (yard.folder / "never").touch()
    first.spawn()
    late: list[Any] = yard.until_instances(lambda found: found[0].state == "exited")
    assert late[0].outcome == "silent"
    assert yard.board.sessions.live(yard.agents["codex"].agent.id, yard.project.id) is not None
    gate.touch()
    yard.until_status(task, "done")
