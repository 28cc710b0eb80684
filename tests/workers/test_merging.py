"""Merging: rebased, checked, fast-forwarded; what does not fit goes back to its task and is in nobody's way."""

from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo.domain.errors import GitError, NothingToMerge, TaskNotReady
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from tests.lead.shop import until
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop, committing


def test_a_merge_puts_the_work_on_the_target_runs_its_checks_there_and_moves_the_target(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("merge/a"), dod=["test -f merge/a && test -f merge/meanwhile"])
    run = workshop.work(number, skip_dod=True)
    meanwhile = workshop.commit("merge/meanwhile", "by hand\n")
    assert workshop.see(number).status == "in_progress"

    # The checks were skipped when it ended, and a merge does not make up for that: it is on record.
    (merged,) = workshop.merge(number)

    assert (merged.status, merged.target) == ("merged", "main")
    assert workshop.git("rev-list", "--parents", "-n", "1", "main").split() == [merged.commit, meanwhile]
    assert (workshop.folder / "merge/a").read_text() == "text\n"
    assert workshop.see(number).status == "done"
    assert workshop.show(run).dod_result == "merged"


def test_checks_of_a_merge_run_on_what_the_target_will_be_and_a_failure_goes_back_to_the_task(
    workshop: Workshop,
) -> None:
    number = workshop.task(workshop.writes("both/a"), dod=["test ! -f both/forbidden"], write=["both/a"])
    workshop.work(number)
    workshop.commit("both/forbidden", "by hand\n")
    before = workshop.head("main")

    (refused,) = workshop.merge(number)

    assert refused.status == "checks_failed"
    assert workshop.head("main") == before
    task = workshop.see(number)
    assert task.status == "blocked"
    assert "test ! -f both/forbidden" in (task.status_reason or "")

    # What others have committed meanwhile is on its branch now, and is not its doing.
    workshop.git("rm", "-q", "both/forbidden")
    workshop.git("commit", "-q", "-m", "away with it")
    (merged,) = workshop.merge(number)
    assert (merged.status, merged.files) == ("merged", ())
    assert workshop.see(number).status == "done"


def test_a_conflict_goes_back_to_the_task_with_its_files_and_nothing_moves(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("clash/a", "mine\n"))
    run = workshop.work(number)
    mine = workshop.head(folder=workshop.folder_of(run))
    theirs = workshop.commit("clash/a", "theirs\n")

    (refused,) = workshop.merge(number)

    assert (refused.status, refused.files) == ("conflict", ("clash/a",))
    task = workshop.see(number)
    assert task.status == "blocked"
    assert "clash/a" in (task.status_reason or "")
    assert workshop.head("main") == theirs
    assert workshop.head(folder=workshop.folder_of(run)) == mine
    assert workshop.show(run).dod_result == "error"


def test_merges_are_tried_in_their_order_and_a_bad_one_does_not_hold_the_others(workshop: Workshop) -> None:
    first = workshop.task(workshop.writes("queue/a", "first\n"))
    clashing = workshop.task(workshop.writes("queue/a", "second\n"))
    failing = workshop.task(workshop.writes("queue/b"), dod=["test -f queue/a && exit 7; exit 0"])
    idle = workshop.task(workshop.script().say("nothing to do"))
    last = workshop.task(workshop.writes("queue/c"))
    runs = [workshop.worker(number) for number in (first, clashing, failing, idle, last)]
    for run in runs:
        workshop.over(run)

    found = workshop.kumi("merge", *map(str, (first, clashing, failing, idle, last)), code=1)["merges"]

    assert [(one["task"], one["status"], one["taskStatus"]) for one in found] == [
        (first, "merged", "done"),
        (clashing, "conflict", "blocked"),
        (failing, "checks_failed", "blocked"),
        (idle, "refused", "in_progress"),
        (last, "merged", "done"),
    ]
    assert [check["exitCode"] for check in found[2]["checks"]] == [7]
    assert workshop.on_main("queue/a") == "first"
    assert workshop.on_main("queue/c") == "text"


def test_a_queue_that_names_a_task_without_a_branch_is_refused_before_anything_is_merged(workshop: Workshop) -> None:
    never, good = workshop.task(), workshop.task(workshop.writes("never/a"))
    workshop.work(good)
    before = workshop.head("main")
    with pytest.raises(NothingToMerge):
        workshop.merge(good, never)
    assert workshop.head("main") == before
    assert workshop.see(good).status == "in_progress"


@pytest.mark.parametrize("way", ["merge", "squash", "rebase"])
def test_work_that_somebody_merged_by_hand_counts_as_merged(workshop: Workshop, way: str) -> None:
    two = committing(workshop.writes(f"hand/{way}").write(f"hand/{way}", "text\nmore\n"), "more")
    number = workshop.task(two)
    run = workshop.work(number)
    branch = workshop.show(run).branch or ""
    workshop.commit(f"hand/{way}-meanwhile", "by hand\n")
    if way == "merge":
        workshop.git("merge", "-q", "--no-edit", branch)
    elif way == "squash":
        workshop.git("merge", "-q", "--squash", branch)
        workshop.git("commit", "-q", "-m", "squashed")
    else:
        workshop.git("cherry-pick", f"main..{branch}")
    workshop.commit(f"hand/{way}-later", "by hand\n")
    before = workshop.head("main")

    (merged,) = workshop.merge(number)

    assert merged.status == "merged"
    assert workshop.head("main") == before
    assert workshop.see(number).status == "done"


def test_work_that_was_merged_by_hand_and_tidied_away_counts_as_well(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("tidy/a"))
    run = workshop.work(number)
    branch = workshop.show(run).branch or ""
    workshop.git("merge", "-q", "--squash", branch)
    workshop.git("commit", "-q", "-m", "squashed")
    workshop.git("worktree", "remove", "--force", "--force", str(workshop.folder_of(run)))
    workshop.git("branch", "-q", "-D", branch)
    (merged,) = workshop.merge(number)
    assert merged.status == "merged"
    assert workshop.see(number).status == "done"


def test_a_worker_that_merged_its_work_itself_has_done_its_task(workshop: Workshop) -> None:
    number = workshop.task(
        workshop.writes("self/a").shell(f"git -C {workshop.folder} merge -q --ff-only $(git branch --show-current)")
    )
    workshop.work(number)
    assert workshop.see(number).status == "done"


def test_a_branch_without_a_commit_is_not_merged_and_its_task_is_not_done(workshop: Workshop) -> None:
    number = workshop.task(workshop.script().say("I have done everything"))
    run = workshop.work(number)
    assert workshop.show(run).status == "completed"
    (refused,) = workshop.merge(number)
    assert isinstance(refused.error, NothingToMerge)
    assert (refused.status, workshop.see(number).status) == ("refused", "in_progress")


def test_what_is_not_committed_keeps_work_from_being_merged(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("loose/a").write("loose/b", "not committed\n"))
    run = workshop.work(number)
    before = workshop.head("main")
    (refused,) = workshop.merge(number)
    assert refused.status == "refused"
    assert "loose/b" in (refused.reason or "")
    assert workshop.head("main") == before
    assert (workshop.folder_of(run) / "loose/b").read_text() == "not committed\n"


def test_a_worker_that_is_still_at_work_is_not_merged(workshop: Workshop) -> None:
    gate, there = workshop.gate(), workshop.gate()
    number = workshop.task(workshop.writes("busy/a").touch(there).wait(gate))
    run = workshop.worker(number)
    until(there.exists)
    (refused,) = workshop.merge(number)
    assert isinstance(refused.error, NothingToMerge)
    gate.touch()
    workshop.over(run)
    assert workshop.merge(number)[0].status == "merged"


def test_work_on_a_target_that_moved_is_no_violation_of_a_scope(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("scoped/a"), write=["scoped/**"])
    run = workshop.work(number)
    workshop.commit("elsewhere/b", "by hand\n")
    # Whoever works there may bring their branch up to date themselves.
    workshop.git("rebase", "-q", "main", folder=workshop.folder_of(run))
    (merged,) = workshop.merge(number)
    assert (merged.status, merged.files) == ("merged", ())


def test_done_merges_removes_the_worktree_and_says_so(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("fin/a"))
    run = workshop.work(number)
    place = workshop.folder_of(run)
    answer = workshop.kumi("worker", "done", str(number))
    assert (answer["status"], answer["taskStatus"]) == ("merged", "done")
    assert not place.exists()
    assert workshop.on_main("fin/a") == "text"
    # Asked again, nothing is left to do and nothing has changed.
    assert workshop.kumi("worker", "done", str(number))["status"] == "merged"


def test_a_merged_task_with_an_open_subtask_waits_for_it_and_says_so(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("parent/a"))
    workshop.task(parent=number)
    workshop.work(number)
    assert workshop.merge(number)[0].status == "merged"
    task = workshop.see(number)
    assert task.status == "in_progress"
    assert task.status_reason
    with pytest.raises(TaskNotReady):
        workshop.board.tasks.update(workshop.place, number, status="done")


def test_the_project_may_be_a_folder_inside_a_repository(workshop: Workshop) -> None:
    inside = workshop.folder / "inside"
    workshop.commit("inside/README.md", "inside\n")
    project = workshop.board.projects.add("inside", str(inside))
    workshop.board.projects.assign(project.id, workshop.board.agents.show("coder"))
    outside, workshop.place = workshop.place, Place(project.id)
    try:
        made = NewTask("t", description=workshop.writes("a").prompt(), assignee="coder", dod=["test -f a"])
        number = workshop.board.tasks.create(workshop.place, made).task.number
        run = workshop.work(number)
        assert Path(run.working_directory or "").name == "inside"
        (merged,) = workshop.merge(number)
        assert merged.reason is None
        assert [check.status for check in (merged.evidence.checks if merged.evidence else ())] == ["passed"]
        assert workshop.on_main("inside/a") == "text"
    finally:
        workshop.place = outside


def test_what_the_user_has_not_committed_is_never_overwritten_and_the_merge_can_be_had_later(
    workshop: Workshop,
) -> None:
    workshop.commit("dirty/a", "one\n")
    number = workshop.task(workshop.script().shell("echo two > dirty/a && git commit -qam work"))
    workshop.work(number)
    (workshop.folder / "dirty/a").write_text("mine\n")
    (refused,) = workshop.merge(number)
    assert refused.status == "refused"
    assert (workshop.folder / "dirty/a").read_text() == "mine\n"
    workshop.git("checkout", "-q", "dirty/a")
    assert workshop.merge(number)[0].status == "merged"


def test_without_a_branch_to_merge_into_nothing_is_begun_and_nothing_changes(open_workshop: OpenWorkshop) -> None:
    opened = open_workshop(up=False)
    number = opened.task()
    opened.git("checkout", "-q", "--detach")
    before = opened.board.store.newest_cursor()
    with pytest.raises(GitError):
        opened.session(number)
    assert (opened.board.store.newest_cursor(), opened.worktree_names()) == (before, [])
