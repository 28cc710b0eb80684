"""What a run has left behind, in the words of a handoff."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from kumihimo.domain import text
from kumihimo.domain.agent import Scope
from kumihimo.domain.context import ContextEntry
from kumihimo.domain.execution import Execution, Report
from kumihimo.domain.observation import Observation, ToolUse
from kumihimo.domain.proof import CheckResult, Commit, DiffStat, PathChange, Proof
from kumihimo.domain.task import Task
from kumihimo.services.contexts import TaskContext
from kumihimo.services.handoff_drafts import Draft, Material, compose, outcome

AT = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)
SEEN = Observation("exec_1", last_message="Half of it is written.", edited_files=("b.py",), created_files=("a.py",))
TASK = Task(
    "tsk_1", 1, "prj_1", "work", "", "in_progress", None, "medium", "task", None, None, None, (), Scope(), AT, AT
)


def run(status: str = "completed", **facts: Any) -> Execution:
    made = Execution("exec_1", None, "prj_1", "tsk_1", "agt_1", None, None, "worker", "codex", None, "go", "/srv/shop",
                     None, status, AT)  # type: ignore[arg-type]  # fmt: skip
    return replace(made, **facts)


def draft(execution: Execution, seen: Observation = SEEN, **more: Any) -> Draft:
    return compose(Material(execution, "coder", seen, **more))


def context(notes: tuple[str, ...] = (), **said: str) -> TaskContext:
    entries = [ContextEntry(f"ctx_{n}", "prj_1", "tsk_1", None, "decision", note, AT) for n, note in enumerate(notes)]
    four = {"progress": None, "findings": None, "blockers": None, "next_steps": None, **said}
    return TaskContext(TASK, notes=entries, **four)  # type: ignore[arg-type]


def proof(**facts: Any) -> Proof:
    return Proof(
        run="exec_1", client="codex", prompt_sha256="0" * 64, status="completed", made_at=AT, version="1", **facts
    )


def test_a_run_that_reported_is_handed_over_in_its_own_words() -> None:
    report = Report("success", "All done.", AT, ("b.py",), ("c.py",), None, "Read c.py first.")
    made = draft(run(report=report))
    assert (
        made.summary == "Made from the run exec_1 of coder (codex): ended by itself.\n\nIt reported success: All done."
    )
    assert made.context is not None
    assert "- a.py (created)\n- b.py (edited)\n- c.py (created)" in made.context
    assert "Response: Read c.py first." in made.context
    assert (made.recommendations, made.next_steps, made.warnings) == (None, (), ())


def test_a_run_that_was_killed_is_handed_over_by_what_it_was_seen_to_do() -> None:
    killed = run("failed", failure_reason="signalled", signal="SIGKILL", exit_code=137, error="Killed")
    doing = ToolUse("shell", "make migrate")
    made = draft(killed, replace(SEEN, recent_tools=(ToolUse("read", "x", True), doing)))
    assert "failed (signalled, SIGKILL)" in made.summary
    assert "The last that it said: Half of it is written." in made.summary
    assert made.warnings == (
        "It did not end by itself: failed (signalled, SIGKILL).",
        "It was in the middle of this when it ended: shell make migrate",
    )
    assert made.recommendations is not None
    assert "middle of a change" in made.recommendations
    assert made.context is not None
    assert "- Error: Killed" in made.context


@pytest.mark.parametrize(
    ("execution", "words", "warned"),
    [
        (run("running"), "still at work", "It has not ended: still at work."),
        (run("queued"), "not started yet", "It has not ended: not started yet."),
        (run("failed", failure_reason="exited", exit_code=3), "failed (exited, exit code 3)", "It did not succeed"),
        (run("timed_out", failure_reason="timed_out"), "timed out", "It did not end by itself: timed out."),
        (run("timed_out", failure_reason="idle"), "timed out (idle)", "It did not end by itself"),
        (run("cancelled", failure_reason="cancelled"), "cancelled", "It did not end by itself: cancelled."),
        (run("lost", failure_reason="lost"), "nobody knows how it ended", "Nobody knows how it ended"),
    ],
)
def test_every_end_is_told_for_what_it_is(execution: Execution, words: str, warned: str) -> None:
    made = draft(execution)
    assert outcome(execution) == words
    assert words in made.summary
    assert made.warnings[0].startswith(warned)
    assert made.recommendations


def test_every_reason_of_a_failure_has_its_advice() -> None:
    from typing import get_args

    from kumihimo.domain.execution import FailureReason

    for reason in get_args(FailureReason):
        assert draft(run("failed", failure_reason=reason)).recommendations


def test_a_claim_that_the_facts_do_not_bear_out_is_warned_of() -> None:
    report = Report("success", "All done.", AT, error_message="but the tests")
    made = draft(run("failed", failure_reason="exited", exit_code=1, report=report, survivors=(7, 8)))
    assert "It reported success, but its process did not end well." in made.warnings
    assert "It reported an error: but the tests" in made.warnings
    assert "These processes of it would not die: 7, 8" in made.warnings


def test_saved_context_becomes_context_and_steps() -> None:
    saved = context(("Use ruff",), progress="half", blockers="no key", next_steps="- write the tests\n\n  run them ")
    made = draft(run(), context=saved)
    assert made.context is not None
    assert made.context.startswith("## What was saved\n- Progress: half\n- Blockers: no key\n- decision: Use ruff\n")
    assert made.next_steps == ("write the tests", "run them")


def test_a_proof_counts_more_than_what_was_seen() -> None:
    found = proof(
        base="a" * 40,
        head="b" * 40,
        commits=(Commit("b" * 40, "Add it"),),
        diffstat=DiffStat.of((PathChange("real.py", "modified", 4, 1),)),
        scope_violations=("secret.py",),
        checks=(
            CheckResult("make test", "failed", 2),
            CheckResult("make lint", "passed", 0),
            CheckResult("e2e", "timed_out"),
        ),
    )
    made = draft(run(branch="kumi/3", worktree="/srv/wt"), proof=found)
    assert made.context is not None
    assert "- real.py (modified, +4 -1)" in made.context
    assert "a.py" not in made.context
    assert "- Branch: kumi/3" in made.context
    assert f"- Commits: 1, up to {'b' * 40}" in made.context
    assert made.next_steps == ("Make this check pass: make test", "Make this check pass: e2e")
    assert made.warnings == (
        "A check is failed (exit code 2): make test",
        "A check is timed out (no exit code): e2e",
        "It changed what it may not: secret.py",
    )
    assert made.recommendations is not None
    assert "checks" in made.recommendations


def test_checks_that_were_skipped_and_a_proof_that_can_not_be_read_are_warned_of() -> None:
    assert draft(run(), proof=proof(checks_skipped=True)).warnings == ("Its checks were skipped.",)
    assert draft(run(), proof_trouble="torn").warnings == ("Its proof can't be read: torn",)


def test_a_run_that_left_nothing_can_be_handed_over_too() -> None:
    made = draft(replace(run("lost", failure_reason="lost"), working_directory=None), Observation("exec_1"))
    assert made.summary.endswith("It left no report and said nothing.")
    assert made.context is None


def test_no_token_is_in_it_and_whatever_was_printed_it_can_be_stored() -> None:
    ours = "kexe_" + "a" * 32
    nasty = f"\0 \ud800 {ours} " + "x" * 300_000
    report = Report("failure", nasty, AT, (nasty,) * 500, (nasty,) * 500, nasty, nasty)
    made = draft(
        run("failed", failure_reason="exited", exit_code=1, report=report, error=nasty, branch="b"),
        Observation("exec_1", last_message=nasty, warning=nasty, edited_files=tuple(f"{n}{nasty}" for n in range(500))),
        context=context(
            (nasty,) * 100, progress=nasty, findings=nasty, blockers=nasty, next_steps="\n".join([nasty] * 200)
        ),
        lines=[nasty] * 20,
        proof=proof(scope_violations=(nasty[:600],) * 300, checks=(CheckResult(nasty, "failed"),)),
    )
    for field, value in (("summary", made.summary), ("context", made.context or "")):
        assert ours not in text.long(field, value)
    for value in (*made.next_steps, *made.warnings):
        assert ours not in text.long("step", value)


def test_a_token_on_the_border_of_what_is_told_is_not_told_by_half() -> None:
    said = "x" * 7_990 + " kexe_" + "a" * 32
    made = draft(run(), Observation("exec_1", last_message=said), lines=["y" * 480 + " kexe_" + "b" * 32])
    assert "kexe" not in made.summary
    assert "kexe" not in (made.context or "")


def test_the_same_material_makes_the_same_draft() -> None:
    paths = tuple(f"{n}.py" for n in range(50))
    assert draft(run(), replace(SEEN, edited_files=paths)) == draft(run(), replace(SEEN, edited_files=paths[::-1]))


def test_the_log_stays_what_it_is_whatever_is_in_it() -> None:
    made = draft(run(), lines=["# not a heading", "```", "- not a list"])
    assert made.context is not None
    assert made.context.endswith("## The end of its log\n\n    # not a heading\n    ```\n    - not a list")
