"""The definition of done: commands that run where the work was done, each with its result on record, and the proof of a run."""

from __future__ import annotations

import hashlib

import pytest

from kumihimo.domain.errors import TaskNotReady
from tests.lead.shop import until
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop, committing


def test_the_checks_of_the_agent_run_in_the_worktree_and_each_result_is_kept(workshop: Workshop) -> None:
    workshop.role("careful", "codex", dod=["pwd && echo looked", "test -f agent/a"])
    number = workshop.task(workshop.writes("agent/a"), assignee="careful")
    run = workshop.work(number)
    checks = workshop.proof(run).checks
    assert [(check.command, check.status, check.exit_code) for check in checks] == [
        ("pwd && echo looked", "passed", 0),
        ("test -f agent/a", "passed", 0),
    ]
    assert checks[0].output.splitlines() == [run.worktree, "looked"]
    assert (run.dod_result, workshop.see(number).status) == ("pending", "in_progress")


def test_the_checks_of_the_task_take_the_place_of_the_agents(workshop: Workshop) -> None:
    workshop.role("strict", "codex", dod=["exit 9"])
    number = workshop.task(workshop.writes("own/a"), assignee="strict", dod=["true"])
    run = workshop.work(number)
    assert [(check.command, check.status) for check in workshop.proof(run).checks] == [("true", "passed")]
    assert workshop.merge(number)[0].status == "merged"


def test_a_check_that_fails_blocks_the_task_and_the_others_are_run_all_the_same(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("fails/a"), dod=["echo first; exit 7", "true", "exit 8"])
    run = workshop.work(number)
    assert [(check.status, check.exit_code) for check in workshop.proof(run).checks] == [
        ("failed", 7), ("passed", 0), ("failed", 8),
    ]  # fmt: skip
    task = workshop.see(number)
    assert (task.status, run.dod_result) == ("blocked", "error")
    assert "echo first; exit 7" in (task.status_reason or "")
    assert "exit code 8" in (task.status_reason or "")
    # Blocked by a check is what an editor calls failed.
    assert [one["id"] for one in workshop.editor().call("task_list", status="failed", limit=100)["tasks"]][:1] == [
        number
    ]


def test_a_check_that_takes_too_long_is_ended_and_counts_as_not_passed(open_workshop: OpenWorkshop) -> None:
    opened = open_workshop(check_timeout_ms=300)
    number = opened.task(opened.writes("a"), dod=["sleep 600", "true"])
    run = opened.work(number)
    assert [check.status for check in opened.proof(run).checks] == ["timed_out", "passed"]
    assert (opened.see(number).status, run.dod_result) == ("blocked", "timeout")


def test_checks_that_were_skipped_are_on_record_as_skipped(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("skip/a"), dod=["exit 9"])
    answer = workshop.kumi("worker", "run", str(number), "--exec", "--skip-dod")
    assert answer["exitCode"] == 0
    run = workshop.board.work_sessions.latest(workshop.place, number).execution
    shown = workshop.kumi("run", "show", run.id, "--proof")
    assert (shown["checks"], shown["checksSkipped"]) == ([], True)
    assert workshop.proof(run).checks_skipped
    assert workshop.see(number).status == "in_progress"


def test_a_merge_that_skips_the_checks_says_so(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("skips/a"), dod=["test ! -f skips/b"])
    run = workshop.work(number)
    workshop.commit("skips/b", "by hand\n")
    assert workshop.merge(number)[0].status == "checks_failed"
    assert workshop.kumi("merge", str(number), "--skip-dod")["merges"][0]["status"] == "merged"
    found = workshop.board.evidence.of(run.id)
    assert found is not None
    assert found.checks_skipped


def test_checks_are_not_run_on_what_failed_anyway(workshop: Workshop) -> None:
    trace = workshop.gate()
    number = workshop.task(workshop.writes("failed/a").exit(4), dod=[f"touch {trace}"])
    run = workshop.work(number)
    assert (run.status, run.exit_code, workshop.see(number).status) == ("failed", 4, "blocked")
    assert workshop.proof(run).checks == ()
    assert not trace.exists()


def test_a_worker_that_reports_a_failure_has_not_done_its_task_whatever_its_exit_code(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("word/a").report_result("failure", "I gave up."))
    run = workshop.work(number)
    assert (run.status, run.exit_code) == ("completed", 0)
    task = workshop.see(number)
    assert (task.status, task.status_reason) == ("blocked", "I gave up.")


def test_a_proof_holds_what_a_run_was_told_what_it_did_and_how_it_ended(workshop: Workshop) -> None:
    base = workshop.head("main")
    script = committing(workshop.script(usage={"input": 700, "output": 30}).write("proof/a", "one\ntwo\n"), "first")
    number = workshop.task(
        script.write("proof/b", "b\n").shell("git add -A && git commit -q -m second").report_result("success", "Both."),
        dod=["test -f proof/a"],
    )
    run = workshop.work(number)
    proof = workshop.kumi("run", "show", run.id, "--proof")
    assert proof["promptSha256"] == hashlib.sha256(run.prompt.encode()).hexdigest()
    assert (proof["base"], proof["head"]) == (base, workshop.head(folder=workshop.folder_of(run)))
    assert [commit["subject"] for commit in proof["commits"]] == ["second", "first"]
    stat = proof["diffstat"]
    assert (stat["files"], stat["insertions"], stat["deletions"]) == (2, 3, 0)
    assert [path["path"] for path in stat["paths"]] == ["proof/a", "proof/b"]
    assert [(check["command"], check["exitCode"]) for check in proof["checks"]] == [("test -f proof/a", 0)]
    assert (proof["exitCode"], proof["signal"], proof["status"]) == (0, None, "completed")
    assert proof["usage"]["input_tokens"] == 700
    assert (proof["report"]["status"], proof["report"]["summary"]) == ("success", "Both.")
    assert (proof["run"], proof["agent"], proof["client"]) == (run.id, "coder", "claude-code")
    assert proof["scopeViolations"] == []
    # What is shown is what was written down when it was looked at.
    kept = workshop.proof(run)
    assert (kept.head, kept.prompt_sha256, len(kept.checks)) == (proof["head"], proof["promptSha256"], 1)


def test_a_worker_is_told_the_task_its_checks_and_its_scope(workshop: Workshop) -> None:
    number = workshop.task("Paint it red.", title="The door", dod=["make paint"], write=["told/**"], exclude=["x/**"])
    workshop.board.contexts.save(workshop.place, number, progress="primed", next_steps="second coat")
    workshop.board.handoffs.create(
        workshop.place, number, from_agent="tester", to_agent="coder", summary="mind the cat"
    )
    _, run = workshop.session(number)
    for words in (
        "The door",
        "Paint it red.",
        "make paint",
        "told/**",
        "x/**",
        "primed",
        "second coat",
        "mind the cat",
    ):
        assert words in run.prompt
    assert (run.branch or "-") in run.prompt


def test_the_checks_of_a_session_are_run_once_though_its_shell_and_the_host_both_look(workshop: Workshop) -> None:
    gate, trace = workshop.gate(), workshop.gate()
    dod = [f"echo ran >> {trace}; while [ ! -e {gate} ]; do sleep 0.05; done"]
    number = workshop.task(workshop.writes("double/a"), dod=dod)
    command, run = workshop.session(number, auto=True)
    pasted = workshop.paste(command)
    until(trace.exists)
    # The host goes through all that is to be looked at, in the order in which it was asked for.
    workshop.work(workshop.task(workshop.writes("double/b")))
    assert trace.read_text() == "ran\n"
    gate.touch()
    pasted.communicate(timeout=60)
    assert workshop.over(run).dod_result == "pending"
    assert trace.read_text() == "ran\n"


def test_without_a_worktree_success_and_passed_checks_in_the_folder_make_the_task_done(workshop: Workshop) -> None:
    good = workshop.task(workshop.script().write("plain/a", "a"), dod=["test -f plain/a"])
    bad = workshop.task(workshop.script().say("done"), dod=["test -f plain/missing"])
    run = workshop.work(good, worktree=False)
    assert (run.working_directory, run.worktree, run.branch) == (str(workshop.folder), None, None)
    assert workshop.see(good).status == "done"
    workshop.work(bad, worktree=False)
    assert workshop.see(bad).status == "blocked"
    assert f"task-{good}" not in workshop.worktree_names()


def test_a_task_in_a_worktree_is_not_done_by_word_before_it_is_merged(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("byword/a"), dod=["true"])
    run = workshop.work(number)
    with pytest.raises(TaskNotReady, match=f"{run.branch}"):
        workshop.board.tasks.update(workshop.place, number, status="done")
    assert workshop.kumi("task", "update", str(number), "--status", "done", code=6) is None
    # A person may overrule it.
    assert workshop.kumi("task", "update", str(number), "--status", "done", "--force")["status"] == "done"


def test_what_checks_leave_behind_is_nobodys_work_and_holds_no_merge(workshop: Workshop) -> None:
    number = workshop.task(
        workshop.writes("left/a"), write=["left/**"], dod=["mkdir -p cache && echo x > cache/of-checks"]
    )
    run = workshop.work(number)
    assert (workshop.folder_of(run) / "cache/of-checks").is_file()
    # Neither of the run whose checks they were nor of the next one in the same place.
    script = workshop.script().write("left/b", "b\n").shell("git add left && git commit -q -m work")
    workshop.board.tasks.update(workshop.place, number, description=script.prompt())
    second = workshop.work(number)
    assert workshop.see(number).status_reason is None
    assert [path.path for path in workshop.proof(second).diffstat.paths] == ["left/a", "left/b"]
    (merged,) = workshop.merge(number)
    assert (merged.status, merged.reason) == ("merged", None)
    assert workshop.git("ls-tree", "-r", "--name-only", "main", "cache") == ""


def test_what_checks_left_behind_and_somebody_commits_is_work_like_any_other(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("kept/a"), write=["kept/**"], dod=["echo x > of-checks"])
    run = workshop.work(number)
    workshop.commit("of-checks", "mine now\n", folder=workshop.folder_of(run))
    (refused,) = workshop.merge(number)
    assert (refused.status, refused.files) == ("out_of_scope", ("of-checks",))


def test_what_somebody_adds_after_the_checks_and_does_not_commit_holds_the_merge(workshop: Workshop) -> None:
    number = workshop.task(workshop.writes("after/a"), dod=["echo x > made-by-checks"])
    run = workshop.work(number)
    (workshop.folder_of(run) / "after/b").write_text("forgotten\n")
    (refused,) = workshop.merge(number)
    assert refused.status == "refused"
    assert "after/b" in (refused.reason or "")
    assert "made-by-checks" not in (refused.reason or "")


def test_a_secret_that_a_check_prints_is_kept_nowhere(
    open_workshop: OpenWorkshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "plum-blossom-91")
    opened = open_workshop()
    number = opened.task(opened.writes("page.md"), dod=['echo "the key is $SHOP_API_KEY"'])
    run = opened.work(number)
    (result,) = opened.merge(number)
    assert result.status == "merged"
    kept = [opened.board.evidence.of(run.id), opened.proof(run), result.evidence]
    assert all("the key is" in str(one) for one in kept)
    assert [one for one in kept if "plum-blossom" in str(one)] == []
    assert "plum-blossom" not in str(opened.board.store.events_after(None, 10_000))
