"""Scopes: what was written outside of one, runs that are kept apart, and conflicts that are seen before they happen."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from subprocess import PIPE
from threading import Barrier

from kumihimo.app import now
from kumihimo.domain.errors import ScopesOverlap
from kumihimo.domain.execution import Execution
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.workers import Request
from kumihimo.store.store import open_store
from tests.lead.shop import until
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop, committing


def test_what_was_written_outside_the_scope_is_a_fact_on_the_run_and_blocks_the_task_with_the_list(
    workshop: Workshop,
) -> None:
    script = committing(workshop.script().write("scope/in", "a").write("outside/committed", "b"))
    number = workshop.task(script.write("outside/loose", "c"), write=["scope/**"], dod=["true"])
    run = workshop.work(number)
    assert run.status == "completed"
    found = ["outside/committed", "outside/loose"]
    assert workshop.kumi("run", "show", run.id, "--proof")["scopeViolations"] == found
    task = workshop.see(number)
    assert task.status == "blocked"
    assert all(file in (task.status_reason or "") for file in found)
    assert "scope/in" not in (task.status_reason or "")


def test_a_merge_looks_at_the_scope_again(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("again/in"), write=["again/**"])
    run = workshop.work(number)
    workshop.commit("beside/out", "later\n", folder=workshop.folder_of(run))
    before = workshop.head("main")
    (refused,) = workshop.merge(number)
    assert (refused.status, refused.files) == ("out_of_scope", ("beside/out",))
    assert (workshop.see(number).status, workshop.head("main")) == ("blocked", before)


def test_the_scope_is_the_tasks_own_where_it_has_one_else_the_agents(workshop: Workshop) -> None:
    workshop.role("narrow", "codex", write=["narrow/**"])
    own = workshop.task(workshop.writes("wide/a"), assignee="narrow", write=["wide/**"])
    agents = workshop.task(workshop.writes("wide/b"), assignee="narrow")
    for number in (own, agents):
        workshop.work(number)
    assert (workshop.see(own).status, workshop.see(agents).status) == ("in_progress", "blocked")


def test_a_session_in_a_shell_is_held_to_its_scope_too(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("shell/out"), write=["shell/in"])
    command, run = workshop.session(number)
    assert workshop.pasted(command) == 0
    assert workshop.over(run).exit_code == 0
    task = workshop.see(number)
    assert task.status == "blocked"
    assert "shell/out" in (task.status_reason or "")


def test_runs_whose_declared_scopes_overlap_are_not_started_together_and_others_are_not_held(
    workshop: Workshop,
) -> None:
    gate = workshop.gate()

    def waiting(name: str, **scope: list[str]) -> int:
        return workshop.task(workshop.script(name).wait(gate), **scope)

    first = workshop.worker(waiting("first", write=["kept/**"]))
    until(lambda: workshop.records("start", "first"))
    second = workshop.worker(waiting("second", write=["kept/deep/*.py"]))
    apart = workshop.worker(waiting("apart", write=["other/**"]))
    undeclared = workshop.worker(waiting("undeclared"))
    until(lambda: workshop.records("start", "apart") and workshop.records("start", "undeclared"))
    # Those behind it were started: it was looked at, and held.
    assert workshop.show(second).status == "queued"
    assert not workshop.records("start", "second")
    gate.touch()
    for run in (first, second, apart, undeclared):
        assert workshop.over(run).status == "completed"
    (ended,) = workshop.records("end", "first")
    (started,) = workshop.records("start", "second")
    assert started["monotonic"] >= ended["monotonic"]


def test_a_scope_that_only_the_settings_have_keeps_runs_apart_as_well(workshop: Workshop) -> None:
    file = workshop.folder / "kumi.toml"
    file.write_text('[agents.coder]\nscope = { write = ["settled/**"] }\n')
    gate = workshop.gate()
    try:
        first = workshop.worker(workshop.task(workshop.script("settled").wait(gate)))
        second = workshop.worker(workshop.task(workshop.script("later").wait(gate)))
    finally:
        file.unlink()
    apart = workshop.worker(workshop.task(workshop.script("beside").wait(gate), write=["elsewhere/**"]))
    until(lambda: workshop.records("start", "settled") and workshop.records("start", "beside"))
    # The one behind it was started: it was looked at, and held.
    assert workshop.show(second).status == "queued"
    gate.touch()
    for run in (first, second, apart):
        assert workshop.over(run).status == "completed"
    (ended,) = workshop.records("end", "settled")
    (started,) = workshop.records("start", "later")
    assert started["monotonic"] >= ended["monotonic"]


def test_a_session_whose_scope_overlaps_with_a_run_under_way_is_not_begun_and_can_be_later(workshop: Workshop) -> None:
    gate = workshop.gate()
    first = workshop.worker(workshop.task(workshop.script("holder").wait(gate), write=["lap/**"]))
    until(lambda: workshop.records("start", "holder"))
    number = workshop.task(workshop.script("held"), write=["lap/a"])
    command, run = workshop.session(number)
    assert workshop.pasted(command) == 6
    assert workshop.show(run).status == "queued"
    assert not workshop.records("start", "held")
    gate.touch()
    workshop.over(first)
    assert workshop.pasted(command) == 0
    assert workshop.over(run).exit_code == 0


def test_a_coming_conflict_shows_on_both_runs_before_they_end_and_goes_when_it_does(workshop: Workshop) -> None:
    gate, mend = workshop.gate(), workshop.gate()
    one = workshop.worker(workshop.task(workshop.script("one").write("same/a", "one\n").wait(mend).wait(gate)))
    other = workshop.worker(
        workshop.task(
            committing(workshop.script("other").write("same/a", "other\n").write("same/b", "b\n"))
            .wait(mend)
            .shell("rm same/a")
            .wait(gate)
        )
    )
    lead = workshop.lead()

    def conflicts() -> list[list[dict[str, object]]]:
        return [lead.status(run.id)["conflicts"] for run in (one, other)]

    seen = until(lambda: (found := conflicts()) and all(found) and found)
    assert seen == [
        [{"agentId": other.id, "files": ["same/a"]}],
        [{"agentId": one.id, "files": ["same/a"]}],
    ]
    assert [workshop.show(run).status for run in (one, other)] == ["running", "running"]
    mend.touch()
    until(lambda: conflicts() == [[], []])
    assert [workshop.show(run).status for run in (one, other)] == ["running", "running"]
    gate.touch()
    for run in (one, other):
        workshop.over(run)


def test_of_two_sessions_with_overlapping_scopes_that_begin_at_once_one_does(
    database: str, open_workshop: OpenWorkshop
) -> None:
    opened = open_workshop(database, up=False)
    rounds = 8
    pairs = []
    for turn in range(rounds):
        names = [opened.task(title=f"{turn}-{side}", write=[f"{turn}/**"]) for side in "ab"]
        pairs.append([opened.session(name)[1].id for name in names])
    begun: list[str] = []
    barrier = Barrier(2)

    def begin(side: int) -> None:
        board = Board(open_store(database), now, Identifiers(os.urandom))
        try:
            for pair in pairs:
                barrier.wait(timeout=60)
                try:
                    board.workers.begin(opened.place, pair[side], "host_one")
                except ScopesOverlap:
                    continue
                begun.append(pair[side])
        finally:
            board.store.close()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(begin, side) for side in (0, 1)]:
            done.result(timeout=60)
    assert [len({*pair} & {*begun}) for pair in pairs] == [1] * rounds


def queued(workshop: Workshop, place: Place, write: list[str]) -> str:
    """A worker's run that waits for a host."""
    task = workshop.board.tasks.create(place, NewTask("t", assignee="coder", write=write)).task
    worker = workshop.board.workers.open(place, Request(task.id, "worker"))
    workshop.board.workers.ready(worker.execution.id, prompt="p", working_directory=str(workshop.folder))
    return worker.execution.id


def test_of_two_hosts_that_claim_at_once_only_one_gets_a_run_of_overlapping_scopes(
    database: str, open_workshop: OpenWorkshop
) -> None:
    opened = open_workshop(database, up=False)
    rounds = 8
    barrier = Barrier(3)
    claimed: list[Execution] = []

    def claim(host: str) -> None:
        board = Board(open_store(database), now, Identifiers(os.urandom))
        try:
            for _ in range(rounds):
                barrier.wait(timeout=60)
                claimed.extend(board.executions.claim_some(host, 1))
                barrier.wait(timeout=60)
        finally:
            board.store.close()

    with ThreadPoolExecutor(2) as pool:
        hosts = [pool.submit(claim, host) for host in ("host_one", "host_two")]
        for _ in range(rounds):
            pair = {queued(opened, opened.place, ["kept/**"]) for _ in "ab"}
            barrier.wait(timeout=60)
            barrier.wait(timeout=60)
            assert len(claimed) == 1
            assert {run.id for run in claimed} <= pair
            run = claimed.pop()
            opened.board.executions.cancel(run.id, run.fence)
            for other in pair:
                opened.board.executions.stop(other)
        for done in hosts:
            done.result(timeout=60)


def test_the_same_scope_in_another_project_is_another_one(open_workshop: OpenWorkshop) -> None:
    opened = open_workshop(up=False)
    elsewhere = opened.folder.parent / "elsewhere"
    elsewhere.mkdir()
    project = opened.board.projects.add("elsewhere", str(elsewhere))
    opened.board.projects.assign(project.id, opened.board.agents.show("coder"))
    runs = [queued(opened, place, ["a/**"]) for place in (opened.place, Place(project.id))]
    assert [run.id for run in opened.board.executions.claim_some("host_one", 5)] == runs


def test_a_run_behind_several_that_are_held_is_started_where_one_slot_is_free(open_workshop: OpenWorkshop) -> None:
    opened = open_workshop(up=False)
    first, *_ = [queued(opened, opened.place, ["kept/**"]) for _ in range(4)]
    free = queued(opened, opened.place, [])
    assert [run.id for run in opened.board.executions.claim_some("host_one", 1)] == [first]
    assert [run.id for run in opened.board.executions.claim_some("host_one", 1)] == [free]


def test_who_starts_a_worker_beside_another_that_has_not_said_what_it_writes_is_warned(workshop: Workshop) -> None:
    gate = workshop.gate()
    first = workshop.task(workshop.script("slow").wait(gate))
    run = workshop.worker(first)
    until(lambda: workshop.show(run).status == "running")
    declared = workshop.task(write=["only/**"])
    warned = workshop.spawn("worker", "run", str(declared), stdout=PIPE, stderr=PIPE)
    _, told = warned.communicate(timeout=60)
    assert warned.returncode == 0
    assert f"#{first}" in told.decode()
    gate.touch()
    workshop.over(run)
    alone = workshop.spawn("worker", "run", str(workshop.task()), stdout=PIPE, stderr=PIPE)
    assert alone.communicate(timeout=60)[1] == b""
