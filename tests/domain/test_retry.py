"""A retry policy: what it allows, and what it can be."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import IllegalTransition, InvalidValue
from kumihimo.domain.execution import Execution, FailureReason, Report, Stopping
from kumihimo.domain.messages import render
from kumihimo.domain.retry import REASONS, RetryPolicy
from kumihimo.domain.task import Task

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVERYTHING = RetryPolicy(2, REASONS)


def ended(reason: FailureReason = "lost", **more: object) -> Execution:
    run = Execution(
        "exec_1", 1, "prj_1", "tsk_1", "agt_1", None, None, "worker", "codex", None, "", None, None, "failed", NOW
    )
    return replace(run, failure_reason=reason, **more)


def test_nothing_is_tried_again_unless_somebody_says_so() -> None:
    assert not any(RetryPolicy().allows(ended(reason)) for reason in REASONS)


@pytest.mark.parametrize("reason", get_args(FailureReason))
def test_a_run_is_followed_after_the_ends_that_are_named_and_after_no_other(reason: FailureReason) -> None:
    assert RetryPolicy(1).allows(ended(reason)) == (reason == "lost")
    # A login, a permission and a stop are a person's.
    assert EVERYTHING.allows(ended(reason)) == (reason not in ("auth", "permission", "cancelled"))


def test_there_are_no_more_retries_than_the_policy_has() -> None:
    assert [EVERYTHING.allows(ended(attempt=attempt)) for attempt in range(4)] == [True, True, False, False]


@pytest.mark.parametrize("status", ["success", "failure"])
def test_where_the_agent_has_said_how_it_went_its_word_stands(status: str) -> None:
    report = Report(status, "", NOW)  # type: ignore[arg-type]
    assert not EVERYTHING.allows(ended(report=report))


@pytest.mark.parametrize(
    ("why", "again"), [("cancelled", False), ("killed", False), ("timed_out", True), ("idle", True)]
)
def test_what_somebody_wanted_to_be_stopped_is_not_begun_again_whatever_ended_it(why: Stopping, again: bool) -> None:
    assert EVERYTHING.allows(ended("lost", status="lost", stopping=why)) is again


@pytest.mark.parametrize("status", ["planned", "queued", "starting", "running", "completed"])
def test_only_what_has_ended_badly_is_followed(status: str) -> None:
    assert not EVERYTHING.allows(ended(status=status))


def test_what_is_not_given_stays_and_none_is_none() -> None:
    policy = RetryPolicy().changed(3, None)
    assert policy == RetryPolicy(3, ("lost",))
    assert policy.changed(None, ["idle", "exited", "idle"]) == RetryPolicy(3, ("exited", "idle"))
    assert RetryPolicy(3, ("idle",)).changed(1, None) == RetryPolicy(1, ("idle",))
    assert policy.changed(None, None) is policy
    assert RetryPolicy(3, ("idle",)).changed(0, None) == RetryPolicy()


@pytest.mark.parametrize(
    ("times", "on", "field"),
    [
        (-1, None, "retries"),
        (11, None, "retries"),
        (10**30, None, "retries"),
        (0, ["lost"], "retry_on"),
        (None, ["lost"], "retry_on"),
        (1, [], "retry_on"),
        (1, ["lost", "auth"], "retry_on"),
        (1, ["tired"], "retry_on"),
    ],
)
def test_what_can_not_be_a_policy_is_refused_with_what_to_do(
    times: int | None, on: list[str] | None, field: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        RetryPolicy().changed(times, on)
    assert refused.value.facts["field"] == field
    for language in ("en", "ja"):
        assert "{" not in render(refused.value, language)


def test_a_task_and_a_run_of_before_are_read_as_such_that_nothing_is_tried_again() -> None:
    task = Task("tsk_1", 1, "prj_1", "t", "", "todo", None, "low", "task", None, None, None, (), Scope(), NOW, NOW)
    old = {**msgspec.to_builtins(task)}
    del old["retry"]
    assert msgspec.convert(old, Task).retry == RetryPolicy()
    run = msgspec.to_builtins(ended())
    del run["attempt"]
    assert msgspec.convert(run, Execution).attempt == 0


def test_only_what_waits_for_its_place_can_be_taken() -> None:
    taken = ended(status="planned", attempt=1).take("host_1", NOW)
    assert (taken.value.host, taken.value.status, taken.kind) == ("host_1", "planned", "execution.taken")
    with pytest.raises(IllegalTransition):
        ended(status="queued", attempt=1).take("host_1", NOW)
