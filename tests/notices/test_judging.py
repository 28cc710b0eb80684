"""What is worth telling, and what is not: judged from the log alone, on both databases."""

from __future__ import annotations

import pytest

from kumihimo.domain.evidence import Evidence
from kumihimo.domain.execution import Report
from kumihimo.domain.messages.notices import SAID
from kumihimo.domain.proof import CheckResult
from tests.notices.conftest import Shop


def test_a_task_that_is_blocked_needs_you_and_says_why(shop: Shop) -> None:
    task = shop.move(shop.task(), "in_progress")
    assert shop.told() == []
    shop.move(task, "blocked", reason="No key for the till")
    (notice,) = shop.notices()
    assert (notice.kind, notice.subject, notice.project) == ("needs_you", task.id, "shop")
    assert notice.title == f"Task #{task.number} is blocked: Sell shoes"
    assert notice.text == "No key for the till"
    assert notice.at == shop.kit.clock()
    assert notice.url == f"http://127.0.0.1:9696/#/board/{task.id}"


def test_a_task_that_is_blocked_again_is_told_again_under_another_id(shop: Shop) -> None:
    shop.move(shop.task(), "in_progress", "blocked", "todo", "in_progress", "blocked")
    assert [kind for kind, _ in shop.told()] == ["needs_you", "needs_you"]
    assert len({notice.id for notice in shop.notices()}) == 2


def test_a_task_that_is_done_is_told_as_done(shop: Shop) -> None:
    task = shop.move(shop.task(), "in_progress", "done")
    assert shop.told() == [("done", task.id)]


def test_edits_assignments_and_cancelled_tasks_are_not_told(shop: Shop) -> None:
    task = shop.task()
    shop.board.tasks.update(shop.here, task.id, title="Sell boots")
    shop.board.tasks.assign(shop.here, task.id, "reviewer")
    shop.move(task, "cancelled")
    assert shop.told() == []


def test_a_group_tells_once_when_its_last_run_is_done(shop: Shop) -> None:
    runs = shop.group(3, "Build it")
    shop.complete(*runs[:2])
    assert shop.told() == []
    shop.complete(runs[2])
    (notice,) = shop.notices()
    assert (notice.kind, notice.subject) == ("done", runs[0].group_id)
    assert (notice.title, notice.text) == ("Group is done: Build it", "3 of 3 runs succeeded.")


def test_a_group_that_is_given_more_to_do_tells_at_each_of_its_ends(shop: Shop) -> None:
    first = shop.group(1)
    group = first[0].group_id
    assert group is not None
    shop.complete(*first)
    second = shop.more(group, 2)
    assert shop.told() == [("done", group)], "the first end stays told, also while it works again"
    shop.complete(*second)
    assert shop.told() == [("done", group)] * 2


def test_a_failure_in_a_group_is_told_at_once_and_the_group_at_its_end(shop: Shop) -> None:
    runs = shop.group(2)
    shop.fail(runs[0], exit_code=3, error="no such file")
    assert shop.told() == [("failed", runs[0].id)]
    assert "no such file (exit code 3)" in shop.notices()[0].text
    shop.complete(runs[1])
    assert shop.told()[1:] == [("done", runs[0].group_id)]
    assert shop.notices()[-1].text == "1 of 2 runs succeeded."


def test_a_plan_that_is_given_up_ends_once_with_all_that_was_cancelled(shop: Shop) -> None:
    stages = shop.plan(1, 2, 1, on_failure="stop")
    shop.fail(stages[0][0])
    assert shop.told() == [("failed", stages[0][0].id), ("done", stages[0][0].group_id)]


def test_stages_in_the_middle_are_not_told(shop: Shop) -> None:
    stages = shop.plan(2, 1)
    shop.complete(*stages[0])
    assert shop.told() == []
    shop.complete(*stages[1])
    assert shop.told() == [("done", stages[0][0].group_id)]


def test_a_run_that_reports_is_told_by_its_report_and_not_by_its_end_as_well(shop: Shop) -> None:
    good, bad = shop.group(2)
    for run, status in ((good, "success"), (bad, "failure")):
        shop.start(run)
        shop.board.executions.report(run.id, Report(status, "said so", shop.kit.clock()))  # type: ignore[arg-type]
    told = [("failed", bad.id), ("done", good.group_id)]
    assert shop.told() == told
    shop.complete(good)
    shop.fail(bad)
    assert shop.told() == told


@pytest.mark.parametrize("reason", ["auth", "permission", "rate_limited"])
def test_a_run_that_needs_somebody_to_go_on_needs_you(shop: Shop, reason: str) -> None:
    run = shop.group(2)[0]
    shop.fail(run, reason, error="Please run /login")
    (notice,) = shop.notices()
    assert (notice.kind, notice.subject, notice.text) == ("needs_you", run.id, "Please run /login")


def test_a_run_that_is_lost_needs_you_and_one_that_runs_out_of_time_has_failed(shop: Shop) -> None:
    lost, late, _ = shop.group(3)
    shop.board.executions.lose(lost.id, shop.start(lost).fence)
    shop.board.executions.time_out(late.id, shop.start(late).fence, "timed_out")
    assert shop.told() == [("needs_you", lost.id), ("failed", late.id)]


def test_what_somebody_stopped_is_not_told_to_him(shop: Shop) -> None:
    run, _ = shop.group(2)
    shop.board.executions.cancel(run.id, shop.start(run).fence)
    assert shop.told() == []


def test_a_run_outside_of_groups_tells_its_success(shop: Shop) -> None:
    from kumihimo.services.wish import Wish

    run = shop.board.executions.enqueue(Wish(shop.coder, "group", "Do it.", project_id=shop.project.id))
    assert run is not None
    shop.complete(run)
    assert shop.told() == [("done", run.id)]


def test_a_worker_that_fails_is_told_once_by_its_task(shop: Shop) -> None:
    task = shop.move(shop.task(), "in_progress")
    shop.fail(shop.worker(task), exit_code=2)
    assert shop.told() == [("needs_you", task.id)]


def test_success_of_a_worker_that_waits_for_its_merge_needs_you_once_it_was_looked_at(shop: Shop) -> None:
    task = shop.move(shop.task(), "in_progress")
    run = shop.worker(task)
    shop.complete(run)
    assert shop.told() == []
    shop.board.evidence.verify(run.id, Evidence(run.id, None, None, shop.kit.clock()))
    (notice,) = shop.notices()
    assert (notice.kind, notice.subject) == ("needs_you", task.id)
    assert f"`kumi merge {task.number}`" in notice.text
    shop.board.evidence.merged(run.id, Evidence(run.id, None, None, shop.kit.clock()))
    assert ("done", task.id) in shop.told()


def test_checks_that_fail_are_told_by_the_task_that_they_block(shop: Shop) -> None:
    task = shop.move(shop.task(), "in_progress")
    run = shop.worker(task)
    shop.complete(run)
    checks = (CheckResult("make test", "failed", exit_code=2),)
    shop.board.evidence.verify(run.id, Evidence(run.id, None, None, shop.kit.clock(), checks=checks))
    (notice,) = shop.notices()
    assert (notice.kind, notice.subject) == ("needs_you", task.id)
    assert "make test" in notice.text


def test_a_handoff_to_a_person_or_to_nobody_needs_you_and_one_to_an_agent_does_not(shop: Shop) -> None:
    shop.board.agents.add("mika", client="command", type="human")
    task = shop.task()
    to = {
        name: shop.board.handoffs.create(shop.here, task.id, from_agent="coder", to_agent=name, summary="Yours now")
        for name in ("reviewer", "mika", None)
    }
    assert shop.told() == [("needs_you", to["mika"].handoff.id), ("needs_you", to[None].handoff.id)]
    assert [notice.title for notice in shop.notices()] == [
        f"coder hands task #{task.number} to mika: Sell shoes",
        f"coder hands task #{task.number} to anybody: Sell shoes",
    ]


def test_ids_are_the_same_whenever_and_wherever_they_are_worked_out(shop: Shop) -> None:
    runs = shop.group(2)
    shop.fail(runs[0])
    shop.complete(runs[1])
    first = shop.notices()
    shop.more(runs[0].group_id or "", 1)
    assert [notice.id for notice in shop.notices()] == [notice.id for notice in first]
    assert [notice.id for notice in shop.notices("ja")] == [notice.id for notice in first]


def test_no_token_and_nothing_that_a_screen_obeys_is_told(shop: Shop) -> None:
    run, _ = shop.group(2)
    token = "kexe_" + "a" * 32
    shop.fail(run, error=f"\x1b[31mkey {token}\u202e" + "x" * 5_000)
    (notice,) = shop.notices()
    assert token not in notice.text
    assert "\x1b" not in notice.text
    assert "\u202e" not in notice.text
    assert len(notice.text) == 2_000


def test_every_sentence_is_there_in_both_languages_with_the_same_facts(shop: Shop) -> None:
    import re

    for key, languages in SAID.items():
        facts = [{*re.findall(r"{(\w+)}", title + text)} for title, text in languages.values()]
        assert set(languages) == {"en", "ja"}, key
        assert facts[0] == facts[1], key
    shop.move(shop.task(), "in_progress", "blocked")
    assert "ブロック" in shop.notices("ja")[0].title


def test_a_run_that_another_follows_by_itself_needs_nobody(shop: Shop) -> None:
    task = shop.move(shop.task(retries=1, retry_on=["exited"]), "in_progress")
    shop.fail(shop.worker(task))
    again = shop.board.work_sessions.latest(shop.here, task.number).execution
    assert (again.attempt, shop.told()) == (1, [])
    # Where that one does not help either, the task tells.
    shop.board.workers.give_up(again.id, "no room", again.host)
    assert shop.told() == [("needs_you", task.id)]
