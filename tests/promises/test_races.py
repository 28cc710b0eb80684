"""Whoever races: one winner, no ring, nothing that the rules forbid. On both databases, with real processes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import StaleFence, WrongState
from kumihimo.domain.execution import Execution
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish
from kumihimo.testing.boards import BoardKit

from .crew import Crew, kept, refusals

# Enough that a window of a fraction of a millisecond is hit; each round is two commands.
ROUNDS = 40
OpenKit = Callable[[str | Path], BoardKit]


@pytest.fixture
def project(kit: BoardKit) -> str:
    return kit.board.projects.init("/srv/shop", git=False).project.id


def coder(kit: BoardKit) -> Agent:
    return kit.board.agents.show("coder")


def new_task(kit: BoardKit, project: str, title: str = "work", **fields: object) -> str:
    return kit.board.tasks.create(Place(project), NewTask(title, **fields)).task.id  # type: ignore[arg-type]


def test_eight_that_authenticate_at_once_get_one_session(kit: BoardKit, project: str, crew: Crew) -> None:
    keyed = kit.board.agents.add("solo")
    kit.board.projects.assign(project, keyed.agent)
    job = {"verb": "authenticate", "agent": keyed.agent.id, "passkey": keyed.passkey, "project": project}
    answers = crew.together([job] * 8)
    assert refusals(answers) == ["AgentBusy"] * 7
    (session,) = kept(answers)
    live = kit.board.sessions.live(keyed.agent.id, project)
    assert live is not None
    assert live.id == session
    assert kit.board.sessions.count_live() == 1


def test_many_rounds_of_eight_logins_leave_one_session_each(kit: BoardKit, project: str, crew: Crew) -> None:
    for _ in range(20):
        answers = crew.together([{"verb": "open_session", "agent": coder(kit).id, "project": project}] * 8)
        assert refusals(answers) == ["AgentBusy"] * 7
        (session,) = kept(answers)
        kit.board.sessions.end(session, "logout")


def test_an_expired_session_is_taken_over_by_one_of_eight(kit: BoardKit, project: str, crew: Crew) -> None:
    # The kit's clock stands in the past, so for the children this session is long over.
    kit.board.sessions.open(coder(kit).id, project)
    answers = crew.together([{"verb": "open_session", "agent": coder(kit).id, "project": project}] * 8)
    assert refusals(answers) == ["AgentBusy"] * 7
    assert kit.board.sessions.count_live() == 1


@pytest.mark.slow
def test_eight_that_speak_for_one_session_at_once_take_up_one_task_and_report_once(
    kit: BoardKit, project: str, crew: Crew
) -> None:
    tasks = [new_task(kit, project, status="in_progress", assignee="coder") for _ in range(2)]
    for _ in tasks:
        (token,) = crew.together([{"verb": "log_in", "agent": coder(kit).id, "project": project}])
        taken = kept(crew.together([{"verb": "take_up", "token": token}] * 8))
        assert len(taken) == 8
        (run,) = set(taken)
        answers = crew.together([{"verb": "report", "token": token, "result": "failed"}] * 8)
        assert refusals(answers) == ["TokenRefused"] * 7
        assert kept(answers) == [kit.board.executions.show(run).task_id]
    assert [kit.board.tasks.get(Place(), task).status for task in tasks] == ["blocked"] * 2
    assert len(kit.board.executions.list().items) == 2


def test_a_report_and_the_end_of_its_instance_at_once_stand_in_nobodys_way(
    kit: BoardKit, project: str, crew: Crew
) -> None:
    agent, slow = coder(kit).id, 0
    for number in range(ROUNDS):
        task = new_task(kit, project, status="in_progress", assignee="coder")
        pair = {"agent": agent, "project": project}
        told = {"verb": "tell_instance", **pair, "instance": f"i{number}"}
        crew.together([{**told, "state": "starting"}])
        (token,) = crew.together([{"verb": "log_in", **pair}])
        assert kept(crew.together([{"verb": "take_up", "token": token}]))
        began = time.monotonic()
        report = {"verb": "report", "token": token, "result": "success"}
        reported, ended = crew.together([report, {**told, "state": "exited"}])
        # PostgreSQL breaks up two that wait for each other after a second.
        slow += time.monotonic() - began >= 1
        assert ended == "exited"
        done = reported == task
        assert done or reported["refused"] == "TokenRefused"
        # Three ends in a row without a report block it.
        assert kit.board.tasks.get(Place(), task).status in (("done",) if done else ("in_progress", "blocked"))
        if not done:
            kit.board.tasks.update(Place(), task, status="cancelled")
    assert slow <= ROUNDS // 10


def test_two_thousand_runs_are_claimed_once_each_by_eight(kit: BoardKit, crew: Crew) -> None:
    kit.board.projects.init("/srv/shop", git=False)
    wish = Wish(coder(kit), "group", prompt="go")
    queued = kit.board.store.write(lambda _: [kit.board.executions.enqueue(wish) for _ in range(2_000)])
    answers = crew.together([{"verb": "claim_all", "owner": f"host-{n}"} for n in range(8)])
    claimed = [(claim[0], claim[1], f"host-{n}") for n, claims in enumerate(answers) for claim in claims]
    assert sorted(claim[0] for claim in claimed) == sorted(made.id for made in queued if made)
    assert {fence for _, fence, _ in claimed} == {1}
    rows = {row.id: row for row in kit.board.store.read(lambda t: t.executions.many())}
    assert all(rows[identifier].owner == owner for identifier, _, owner in claimed)
    assert {row.status for row in rows.values()} == {"starting"}
    # Nobody was starved of all work: the queue is shared, not taken by whoever came first.
    assert sum(bool(claims) for claims in answers) > 1


def test_a_stale_fence_writes_nothing(kit: BoardKit, project: str) -> None:
    board = kit.board
    board.executions.enqueue(Wish(coder(kit), "group"))
    first = board.executions.claim("host-a")
    assert first is not None
    board.executions.release(first.id, first.fence)
    second = board.executions.claim("host-b")
    assert second is not None
    assert (second.id, second.fence) == (first.id, first.fence + 1)
    before, log = board.executions.show(first.id), board.store.events_after(None, 1_000)
    for write in every_write(kit, first):
        with pytest.raises(StaleFence):
            write()
    assert board.executions.show(first.id) == before
    assert board.store.events_after(None, 1_000) == log


def every_write(kit: BoardKit, claim: Execution) -> list[object]:
    runs = kit.board.executions
    return [
        lambda: runs.renew(claim.id, claim.fence),
        lambda: runs.release(claim.id, claim.fence),
        lambda: runs.start(claim.id, claim.fence),
        lambda: runs.complete(claim.id, claim.fence),
        lambda: runs.fail(claim.id, claim.fence, "exited", exit_code=1),
        lambda: runs.time_out(claim.id, claim.fence, "idle"),
        lambda: runs.cancel(claim.id, claim.fence),
    ]


def test_a_renewal_that_comes_after_the_end_does_not_stop_the_search_for_lost_runs(kit: BoardKit, project: str) -> None:
    """A heartbeat that crosses the end of its own run must not leave a lease on a run that is over."""
    runs = kit.board.executions
    for _ in range(2):
        runs.enqueue(Wish(coder(kit), "group"))
    ended, dead = runs.claim("host"), runs.claim("host")
    assert ended is not None
    assert dead is not None
    runs.start(ended.id, ended.fence)
    runs.complete(ended.id, ended.fence)
    # To refuse it is as good as to ignore it.
    with contextlib.suppress(WrongState):
        runs.renew(ended.id, ended.fence)
    assert runs.show(ended.id).lease_until is None
    kit.clock.advance(hours=1)
    assert [lost.id for lost in runs.lose_expired()] == [dead.id]


def test_a_renewal_after_the_release_leaves_no_lease_on_a_waiting_run(kit: BoardKit, project: str) -> None:
    runs = kit.board.executions
    runs.enqueue(Wish(coder(kit), "group"))
    claimed = runs.claim("host")
    assert claimed is not None
    runs.release(claimed.id, claimed.fence)
    with contextlib.suppress(WrongState):
        runs.renew(claimed.id, claimed.fence)
    kit.clock.advance(hours=1)
    assert runs.lose_expired() == []
    assert runs.show(claimed.id).status == "queued"


def test_eight_that_start_work_on_a_task_at_once_get_one_session(kit: BoardKit, project: str, crew: Crew) -> None:
    for _ in range(10):
        task = new_task(kit, project)
        answers = crew.together([{"verb": "start_work", "project": project, "task": task}] * 8)
        assert refusals(answers) == ["SessionAlreadyRunning"] * 7
        assert kit.board.tasks.show(Place(project), task).task.status == "in_progress"
    numbers = [work.execution.number for work in kit.board.work_sessions.list(Place(project)).items]
    assert numbers == list(range(10, 0, -1))


def test_a_worker_and_a_session_that_want_one_task_at_once_do_not_both_get_it(
    kit: BoardKit, project: str, crew: Crew
) -> None:
    agent = coder(kit).id
    for _ in range(ROUNDS):
        task = new_task(kit, project)
        session = {"verb": "start_work", "project": project, "task": task}
        worker = {"verb": "ask_for_worker", "task": task, "agent": agent}
        answers = crew.together([session, worker, session, worker])
        assert refusals(answers).count("SessionAlreadyRunning") == len(refusals(answers))
        assert len([answer for answer in kept(answers) if answer is not None]) == 1


def test_two_that_each_add_one_half_of_a_ring_make_none(kit: BoardKit, project: str, crew: Crew) -> None:
    for _ in range(ROUNDS):
        one, two = new_task(kit, project), new_task(kit, project)
        answers = crew.together(
            [
                {"verb": "depend", "project": project, "task": one, "on": two},
                {"verb": "depend", "project": project, "task": two, "on": one},
            ]
        )
        assert refusals(answers) == ["DependencyCycle"]


def test_a_ring_over_three_tasks_is_refused_to_the_last_of_three(kit: BoardKit, project: str, crew: Crew) -> None:
    for _ in range(ROUNDS // 2):
        ring = [new_task(kit, project) for _ in range(3)]
        jobs = [{"verb": "depend", "project": project, "task": ring[n], "on": ring[(n + 1) % 3]} for n in range(3)]
        assert refusals(crew.together(jobs)) == ["DependencyCycle"]


def test_two_that_each_put_the_other_below_themselves_make_no_ring(kit: BoardKit, project: str, crew: Crew) -> None:
    for _ in range(ROUNDS // 2):
        one, two = new_task(kit, project), new_task(kit, project)
        answers = crew.together(
            [
                {"verb": "put_below", "project": project, "task": one, "parent": two},
                {"verb": "put_below", "project": project, "task": two, "parent": one},
            ]
        )
        assert refusals(answers) == ["InvalidValue"]


def started(kit: BoardKit, project: str) -> str:
    task = new_task(kit, project, assignee="coder")
    kit.board.tasks.update(Place(project), task, status="in_progress")
    return task


def require_no_open_subtask_of_a_done_task(kit: BoardKit, project: str) -> None:
    tasks = {task.id: task for task in kit.board.store.read(lambda t: t.tasks.many())}
    for task in tasks.values():
        if task.parent_id and tasks[task.parent_id].status == "done":
            assert task.status in ("done", "cancelled"), f"task {task.number} is open, its parent is done"


def test_a_subtask_added_while_its_parent_is_finished_never_leaves_a_done_parent_with_an_open_subtask(
    kit: BoardKit, project: str, crew: Crew
) -> None:
    for _ in range(ROUNDS):
        parent = started(kit, project)
        crew.together(
            [
                {"verb": "add_subtask", "project": project, "parent": parent},
                {"verb": "move", "project": project, "task": parent, "status": "done"},
            ]
        )
    require_no_open_subtask_of_a_done_task(kit, project)


def test_a_task_put_below_another_while_that_is_finished_never_leaves_a_done_parent_with_an_open_subtask(
    kit: BoardKit, project: str, crew: Crew
) -> None:
    for _ in range(ROUNDS):
        parent, task = started(kit, project), new_task(kit, project)
        crew.together(
            [
                {"verb": "put_below", "project": project, "task": task, "parent": parent},
                {"verb": "move", "project": project, "task": parent, "status": "done"},
            ]
        )
    require_no_open_subtask_of_a_done_task(kit, project)


def test_eight_that_accept_a_handoff_at_once_one_has_it(kit: BoardKit, project: str, crew: Crew) -> None:
    task = new_task(kit, project)
    for _ in range(10):
        made = kit.board.handoffs.create(Place(project), task, from_agent="coder", summary="yours")
        answers = crew.together([{"verb": "accept", "handoff": made.handoff.id, "agent": "reviewer"}] * 8)
        assert refusals(answers) == ["HandoffAlreadyAccepted"] * 7


def test_eight_that_make_projects_of_their_folders_at_once_share_the_built_in_agents(kit: BoardKit, crew: Crew) -> None:
    answers = crew.together([{"verb": "init", "folder": f"/srv/shop-{n}"} for n in range(8)])
    team = {agent.id for agent in kit.board.agents.list().items}
    projects = kit.board.projects.list()
    assert len(team) == 4
    assert refusals(answers) == []
    assert [set(project.agent_ids) for project in projects] == [team] * 8


def test_eight_that_make_one_folder_a_project_at_once_make_one_project(kit: BoardKit, crew: Crew) -> None:
    answers = crew.together([{"verb": "init", "folder": "/srv/shop"}] * 8)
    projects = kit.board.projects.list()
    assert refusals(answers) == []
    assert [project.name for project in projects] == ["shop"]
    assert len(projects[0].agent_ids) == 4


def test_agents_that_join_while_a_folder_is_made_a_project_again_stay_members(kit: BoardKit, crew: Crew) -> None:
    """`init` may be repeated at any time, so it must not write an older list of members over a newer one."""
    for round_ in range(ROUNDS // 2):
        project = kit.board.projects.add(f"shop-{round_}", f"/srv/shop-{round_}")
        agent = kit.board.agents.add(f"guest-{round_}").agent
        crew.together(
            [
                {"verb": "init", "folder": f"/srv/shop-{round_}"},
                {"verb": "join_project", "project": project.id, "agent": agent.id},
            ]
        )
        assert agent.id in kit.board.projects.show(project.id).agent_ids


def test_a_new_passkey_does_not_undo_what_was_changed_while_it_was_hashed(
    kit: BoardKit, open_kit: OpenKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashing takes long enough for anybody else to change the agent in between."""
    from kumihimo.services import passkeys

    kit.board.agents.add("guest")
    other = open_kit(kit.database)

    def archive_meanwhile(passkey: str) -> str:
        other.board.agents.archive("guest")
        return f"hash of {passkey}"

    monkeypatch.setattr(passkeys, "hash_of", archive_meanwhile)
    kit.board.agents.rekey("guest")
    assert kit.board.agents.show("guest").status == "archived"


def test_leases_that_ran_out_are_lost_once_whoever_looks(kit: BoardKit, open_kit: OpenKit, project: str) -> None:
    kit.board.executions.enqueue(Wish(coder(kit), "group"))
    claimed = kit.board.executions.claim("host", timedelta(seconds=5))
    assert claimed is not None
    other = open_kit(kit.database)
    kit.clock.advance(seconds=6)
    other.clock.advance(seconds=6)
    assert [lost.id for lost in kit.board.executions.lose_expired()] == [claimed.id]
    assert other.board.executions.lose_expired() == []
