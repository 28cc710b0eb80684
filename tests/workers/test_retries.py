"""Runs that follow others by themselves: where their place is made, and what becomes of what was left."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from kumihimo.domain.errors import NothingToMerge
from kumihimo.domain.evidence import Evidence
from kumihimo.domain.execution import Execution
from kumihimo.engine.processes import identity
from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.services.host_name import host_id
from kumihimo.services.workers import Request
from kumihimo.services.working import prepare
from kumihimo.store.executions import Reach
from kumihimo.supervisor.places import PlaceMaker
from kumihimo.testing.scripts import Script
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop, committing


def dying_once(workshop: Workshop, name: str) -> Script:
    """Of two agents that play this, the first is killed when it has begun to write."""
    mark = workshop.gate()
    first = f"echo half > left; touch {mark}; kill -9 $PPID; sleep 60"
    return workshop.script(name).shell(f"test -e {mark} || {{ {first}; }}")


@pytest.mark.parametrize("worktree", [True, False], ids=["worktree", "folder"])
def test_a_home_that_is_alone_tries_again_and_goes_on_with_what_was_left(
    database: str, open_workshop: OpenWorkshop, worktree: bool
) -> None:
    opened = open_workshop(database)
    number = opened.task(committing(dying_once(opened, "again")), retries=1, retry_on=["signalled"])
    first = opened.worker(number, worktree=worktree)
    # Who waits for the worker waits for the one that follows.
    waited = opened.kumi("worker", "wait", str(number), "--timeout", "60")
    again = opened.show(waited["executionId"])
    assert (again.previous_id, again.attempt, again.status, again.number) == (first.id, 1, "completed", 2)
    assert (opened.show(first).status, opened.show(first).failure_reason) == ("failed", "signalled")
    assert len(opened.records("start", "again")) == 2
    assert again.prompt.startswith("You are not the first on this task.")
    assert f"({first.id}) did not end well: " in again.prompt
    shown = opened.kumi("run", "show", again.id)
    assert (shown["attempt"], shown["continues"]) == (1, first.id)
    assert "attempt" not in opened.kumi("run", "show", first.id)
    if worktree:
        assert again.worktree == opened.show(first).worktree
        assert opened.merge(number)[0].status == "merged"
        assert opened.on_main("left") == "half"
    assert opened.see(number).status == "done"


# By hand: a host in this process.


class Bench:
    """A workshop without a host process: runs are begun and ended, and places made, by the test."""

    def __init__(self, workshop: Workshop) -> None:
        self.shop = workshop
        self.here = host_id(workshop.home)
        self.said: list[str] = []
        self.maker = PlaceMaker(workshop.settings, workshop.board, self.here, self.said.append)
        self.renew(self.here, "here")

    def renew(self, host: str, name: str) -> None:
        having = {"clients": ("claude-code",), "projects": (self.shop.project.id,)}
        self.shop.board.hosts.renew(host, name, 5, timedelta(days=1), **having)  # type: ignore[arg-type]

    def lost(self, number: int, on: str | None = None) -> Execution:
        """A worker in its worktree that is lost by its host."""
        prepare(self.shop.board, self.shop.settings, self.shop.place, Request(number, "worker"))
        (run,) = self.shop.board.executions.claim_some(on or self.here, 1, reach=Reach())
        self.shop.board.executions.start(run.id, run.fence)
        self.shop.commit("left", "half\n", folder=self.shop.folder_of(run))
        return self.shop.board.executions.lose(run.id, run.fence)

    def verify(self, run: Execution) -> None:
        self.shop.board.evidence.verify(run.id, Evidence(run.id, run.base, None, run.queued_at))

    def newest(self, number: int) -> Execution:
        return self.shop.board.work_sessions.latest(self.shop.place, number).execution


@pytest.fixture
def bench(database: str, open_workshop: OpenWorkshop, monkeypatch: pytest.MonkeyPatch) -> Bench:
    workshop = open_workshop(database, up=False)
    monkeypatch.setenv("KUMI_HOME", str(workshop.home))
    return Bench(workshop)


def test_a_worktree_that_is_still_looked_at_is_waited_for(bench: Bench) -> None:
    number = bench.shop.task(retries=1)
    lost = bench.lost(number)
    assert bench.maker._look()
    again = bench.newest(number)
    assert (again.status, again.host, bench.said) == ("planned", bench.here, [])
    assert bench.shop.see(number).status == "in_progress"
    bench.verify(lost)
    assert not bench.maker._look()
    again = bench.newest(number)
    assert (again.status, again.worktree, again.branch) == ("queued", lost.worktree, f"task-{number}-s2")
    assert (bench.shop.folder_of(again) / "left").exists()


def test_nothing_is_begun_in_a_worktree_while_an_agent_that_was_given_up_is_at_work_there(bench: Bench) -> None:
    number = bench.shop.task(retries=1)
    lost = bench.lost(number)
    bench.verify(lost)
    folder = RunFolder(bench.shop.home / "runs" / lost.id)
    folder.path.mkdir(parents=True)
    folder.note_wrapper(identity.current())
    assert bench.maker._look()
    assert bench.newest(number).status == "planned"
    (folder.path / "started").unlink()
    assert not bench.maker._look()
    assert bench.newest(number).status == "queued"


def test_in_a_folder_that_is_shared_with_a_host_that_is_gone_it_gets_a_worktree_of_its_own(bench: Bench) -> None:
    number = bench.shop.task(retries=2)
    lost = bench.lost(number, on="host_gone")
    assert not bench.maker._look()
    again = bench.newest(number)
    assert (again.status, again.host) == ("queued", bench.here)
    assert Path(again.worktree or "").name == again.branch == f"task-{number}-s2"
    # Nothing of what was left is touched.
    assert (bench.shop.folder_of(lost) / "left").exists()
    assert not (bench.shop.folder_of(again) / "left").exists()
    (claimed,) = bench.shop.board.executions.claim_some(bench.here, 1, reach=Reach((bench.here,)))
    bench.shop.board.executions.start(claimed.id, claimed.fence)
    bench.verify(bench.shop.board.executions.lose(claimed.id, claimed.fence))
    # And who follows that one on the same host goes on in it.
    assert not bench.maker._look()
    assert (bench.newest(number).attempt, bench.newest(number).worktree) == (2, again.worktree)


@pytest.mark.parametrize("taken", [False, True], ids=["free", "taken"])
def test_a_retry_that_nobody_could_see_to_is_begun_when_a_host_comes_up(bench: Bench, taken: bool) -> None:
    number = bench.shop.task(bench.shop.script("later").say("Done."), retries=1)
    bench.verify(bench.lost(number))
    assert bench.newest(number).status == "planned"
    if taken:
        # And was ended before it had made anything.
        bench.shop.board.retries.take(bench.newest(number).id, bench.here)
    bench.shop.up()
    assert (bench.shop.over(bench.newest(number)).status, bench.newest(number).attempt) == ("completed", 1)


def test_a_retry_whose_place_can_not_be_made_blocks_the_task_with_the_reason(bench: Bench) -> None:
    number = bench.shop.task(retries=1)
    bench.verify(bench.lost(number))
    shutil.rmtree(bench.shop.folder / ".git")
    assert not bench.maker._look()
    assert (bench.newest(number).status, bench.shop.see(number).status) == ("cancelled", "blocked")
    assert bench.shop.see(number).status_reason
    assert len(bench.said) == 1


def test_what_another_host_has_taken_is_left_to_it(bench: Bench) -> None:
    number = bench.shop.task(retries=1)
    bench.verify(bench.lost(number))
    bench.renew("host_other", "other")
    again = bench.newest(number)
    assert bench.shop.board.retries.take(again.id, "host_other") is not None
    assert not bench.maker._look()
    assert bench.newest(number).status == "planned"
    # Also where somebody asks for a worker here.
    given = prepare(bench.shop.board, bench.shop.settings, bench.shop.place, Request(number, "worker")).execution
    assert (given.id, given.status, given.host) == (again.id, "planned", "host_other")


def test_who_asks_for_a_worker_while_a_retry_waits_makes_its_place(bench: Bench) -> None:
    number = bench.shop.task(retries=1)
    bench.verify(bench.lost(number))
    again = bench.newest(number)
    given = prepare(bench.shop.board, bench.shop.settings, bench.shop.place, Request(number, "worker")).execution
    assert (given.id, given.status, given.host) == (again.id, "queued", bench.here)


def test_a_retry_that_waits_is_not_merged_and_can_be_stopped(bench: Bench) -> None:
    number = bench.shop.task(retries=1)
    lost = bench.lost(number)
    bench.verify(lost)
    (refused,) = bench.shop.merge(number)
    assert isinstance(refused.error, NothingToMerge)
    assert bench.newest(number).id in str(refused.error)
    stopped = bench.shop.do("worker.stop", task=number)
    assert (stopped.execution.attempt, stopped.execution.status) == (1, "cancelled")
    assert bench.shop.see(number).status == "blocked"
    # Then it is the work of the one before that is there.
    (merged,) = bench.shop.merge(number)
    assert (merged.status, merged.candidate.run.id) == ("merged", lost.id)
    assert (bench.shop.folder / "left").exists()
