from __future__ import annotations

from datetime import timedelta

import pytest

from kumihimo.domain.errors import ExecutionNotFound, IllegalTransition, StaleFence
from kumihimo.domain.execution import Execution, Report
from kumihimo.domain.host import Awaited
from kumihimo.services.wish import Wish
from kumihimo.store.executions import Reach
from kumihimo.testing.boards import BoardKit
from tests.services.conftest import Shop


def queued(shop: Shop) -> Execution:
    made = shop.kit.board.executions.enqueue(Wish(shop.coder, "group", prompt="do it", project_id=shop.project.id))
    assert made is not None
    return made


def claimed(shop: Shop, owner: str = "host-a") -> Execution:
    made = shop.kit.board.executions.claim(owner)
    assert made is not None
    return made


def test_wishes_are_claimed_oldest_first_and_each_once(shop: Shop) -> None:
    wished: list[str] = []
    for _ in range(3):
        wished.append(queued(shop).id)
        shop.kit.clock.advance(seconds=1)
    assert [claimed(shop).id for _ in range(3)] == wished
    assert shop.kit.board.executions.claim("host-a") is None


def test_a_run_goes_from_the_wish_to_its_outcome_under_one_fence(shop: Shop) -> None:
    runs = shop.kit.board.executions
    queued(shop)
    claim = claimed(shop)
    assert (claim.status, claim.owner, claim.fence) == ("starting", "host-a", 1)
    runs.start(claim.id, 1)
    shop.kit.clock.advance(seconds=20)
    assert runs.renew(claim.id, 1).lease_until == shop.kit.clock() + timedelta(seconds=30)
    ended = runs.complete(claim.id, 1, log_path="/logs/one")
    assert (ended.status, ended.exit_code, ended.duration_ms, ended.log_path) == ("completed", 0, 20_000, "/logs/one")
    assert runs.show(claim.id) == ended


def test_a_stale_fence_writes_nothing(shop: Shop) -> None:
    runs = shop.kit.board.executions
    queued(shop)
    old = claimed(shop, "host-a")
    runs.release(old.id, old.fence)
    new = claimed(shop, "host-b")
    events = shop.events()
    for write in (
        lambda: runs.start(old.id, old.fence),
        lambda: runs.complete(old.id, old.fence),
        lambda: runs.fail(old.id, old.fence, "exited"),
        lambda: runs.time_out(old.id, old.fence, "idle"),
        lambda: runs.cancel(old.id, old.fence),
        lambda: runs.renew(old.id, old.fence),
        lambda: runs.release(old.id, old.fence),
    ):
        with pytest.raises(StaleFence):
            write()
    assert runs.show(old.id) == new
    assert shop.events() == events


def test_a_claim_whose_lease_ran_out_is_lost_and_never_completed(shop: Shop) -> None:
    runs = shop.kit.board.executions
    first, second = queued(shop), queued(shop)
    spoken_for, left = claimed(shop), claimed(shop)
    runs.start(left.id, left.fence)
    assert runs.lose_expired() == []
    shop.kit.clock.advance(seconds=31)
    (lost,) = runs.lose_expired(spared=lambda execution: execution.id == spoken_for.id)
    assert (lost.id, lost.status, lost.failure_reason, lost.exit_code) == (left.id, "lost", "lost", None)
    with pytest.raises(IllegalTransition):
        runs.complete(left.id, left.fence)
    assert {first.id, second.id} == {spoken_for.id, left.id}


def test_a_report_is_kept_beside_what_the_process_did(shop: Shop) -> None:
    runs = shop.kit.board.executions
    queued(shop)
    run = claimed(shop)
    runs.start(run.id, run.fence)
    report = Report("success", "it works", shop.kit.clock(), edited_files=("a.py",), response="long")
    runs.report(run.id, report)
    failed = runs.fail(run.id, run.fence, "exited", exit_code=2)
    assert (failed.status, failed.exit_code, failed.report) == ("failed", 2, report)


def test_manual_sessions_are_never_claimed(shop: Shop) -> None:
    shop.kit.board.work_sessions.start(shop.here, shop.task().number)
    assert shop.kit.board.executions.claim("host-a") is None


def test_runs_are_listed_newest_first_by_task_and_agent(shop: Shop) -> None:
    runs, task = shop.kit.board.executions, shop.task()
    for number in range(3):
        wish = Wish(shop.reviewer if number else shop.coder, "instance", task=task if number == 2 else None)
        assert runs.enqueue(wish)
        shop.kit.clock.advance(seconds=1)
    everything = runs.list().items
    assert [run.agent_id for run in everything] == [shop.reviewer.id, shop.reviewer.id, shop.coder.id]
    assert runs.list(task_id=task.id).items == everything[:1]
    assert runs.list(agent_id=shop.coder.id).items == everything[2:]
    assert runs.list(statuses=("completed",)).items == []
    with pytest.raises(ExecutionNotFound):
        runs.show("exec_nothing")


@pytest.mark.parametrize(
    "said",
    [
        "status = 'completed', unverified = 1, host_id = 'host_here'",
        "status = 'completed', unverified = 1, host_id = NULL",
        "status = 'running', worktree = '/srv/tree', host_id = 'host_here'",
        "status = 'running', origin = 'session', worktree = NULL, host_id = 'host_here'",
    ],
)
def test_a_host_has_something_to_look_at_where_any_of_three_questions_would_find_it(kit: BoardKit, said: str) -> None:
    board = kit.board
    board.executions.enqueue(Wish(board.agents.add("coder").agent, "group"))
    assert not board.evidence.anything_to_look_at("host_here")
    board.store.write(lambda transaction: transaction.connection.execute(f"UPDATE executions SET {said}"))
    found = [board.evidence.unverified("host_here"), board.evidence.under_way("host_here")]
    assert any([*found, board.workers.attended("host_here")])
    for host, something in (("host_here", True), ("host_there", "NULL" in said.rpartition("host_id")[2])):
        assert board.evidence.anything_to_look_at(host) is something
        board.hosts.renew(host, host, 5)
        assert board.hosts.extend(host) == Awaited(traces=something)


@pytest.mark.parametrize(
    ("said", "here", "there"),
    [
        ("status = 'queued'", Awaited(work=True), Awaited(work=True)),
        ("status = 'queued', host = 'host_here'", Awaited(work=True), Awaited()),
        ("status = 'queued', client = 'codex'", Awaited(work=True), Awaited()),
        ("status = 'planned', origin = 'worker', host = 'host_here'", Awaited(places=True), Awaited()),
        ("status = 'planned', origin = 'worker', attempt = 1", Awaited(places=True), Awaited(places=True)),
        ("status = 'planned', stage = 2", Awaited(), Awaited()),
        ("status = 'completed'", Awaited(), Awaited()),
    ],
)
def test_a_host_is_told_with_its_lease_what_waits_for_it(
    kit: BoardKit, said: str, here: Awaited, there: Awaited
) -> None:
    board = kit.board
    board.executions.enqueue(Wish(board.agents.add("coder").agent, "group"))
    board.store.write(lambda transaction: transaction.connection.execute(f"UPDATE executions SET {said}"))
    for host, clients, awaited in (
        ("host_here", ("claude-code", "codex"), here),
        ("host_there", ("claude-code",), there),
    ):
        reach = Reach((host,), clients)
        assert board.hosts.extend(host, reach) is None
        board.hosts.renew(host, host, 5)
        assert board.hosts.extend(host, reach) == awaited
        assert board.executions.waiting(reach) is awaited.work
        assert bool(board.executions.to_be_placed((host,))) is awaited.places
