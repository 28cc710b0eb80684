"""When a call is tried again, how long is waited before, and what it answers in the end."""

from __future__ import annotations

import pytest

from kumihimo.hub.configuration import RetryPolicy
from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.retrying import Tries
from tests.hub.hub_kit import StillTiming, run

LOST = HubError(Code.CONNECTION_LOST, "lost", unclear=True)
UNREACHED = HubError(Code.CONNECTION_FAILED, "nobody there")
ANSWERED = HubError(Code.EXECUTION_FAILED, "it failed", delivered=True)


class Sequence:
    """Fails with each of these in turn, and then answers."""

    def __init__(self, *errors: HubError) -> None:
        self.left = list(errors)
        self.tried = 0

    async def __call__(self) -> str:
        self.tried += 1
        if self.left:
            raise self.left.pop(0)
        return "answer"


def performed(sequence: Sequence, policy: RetryPolicy, *, repeatable: bool) -> tuple[str | HubError, list[float]]:
    timing = StillTiming()
    found: list[str | HubError] = []

    async def perform() -> None:
        tries = Tries(policy, timing, patience_seconds=30.0)
        tries.repeatable = repeatable
        try:
            found.append(await tries.perform(sequence))
        except HubError as error:
            found.append(error)
        assert tries.count == sequence.tried

    run(perform())
    return found[0], timing.slept


def test_waits_grow_by_the_multiplier_up_to_the_longest() -> None:
    policy = RetryPolicy(max_retries=5, initial_delay=1000, max_delay=5000, backoff_multiplier=2)
    answer, slept = performed(Sequence(*[UNREACHED] * 5), policy, repeatable=False)
    assert (answer, slept) == ("answer", [1.0, 2.0, 4.0, 5.0, 5.0])


def test_the_default_policy_is_three_retries_from_one_to_ten_seconds() -> None:
    answer, slept = performed(Sequence(*[UNREACHED] * 4), RetryPolicy(), repeatable=False)
    assert isinstance(answer, HubError)
    assert (answer.code, answer.details) == (Code.MAX_RETRIES_EXCEEDED, {"last": Code.CONNECTION_FAILED})
    assert slept == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("errors", "repeatable", "expected", "tried"),
    [
        ((UNREACHED,), False, None, 2),
        ((LOST,), False, Code.DELIVERY_UNKNOWN, 1),
        ((LOST,), True, None, 2),
        ((UNREACHED, LOST), False, Code.DELIVERY_UNKNOWN, 2),
        ((UNREACHED, ANSWERED), False, Code.EXECUTION_FAILED, 2),
        ((ANSWERED,), True, Code.EXECUTION_FAILED, 1),
        ((HubError(Code.CONNECTION_FAILED, "never", retryable=False),), True, Code.CONNECTION_FAILED, 1),
        ((HubError(Code.EXECUTION_FAILED, "no answer at all", unclear=True),), False, Code.DELIVERY_UNKNOWN, 1),
    ],
)
def test_it_is_tried_again_only_where_that_is_safe(
    errors: tuple[HubError, ...], repeatable: bool, expected: Code | None, tried: int
) -> None:
    sequence = Sequence(*errors)
    answer, _ = performed(sequence, RetryPolicy(), repeatable=repeatable)
    assert (answer.code if isinstance(answer, HubError) else None) is expected
    assert sequence.tried == tried


def test_the_errors_that_a_policy_names_are_retried_and_no_others_and_safety_comes_first() -> None:
    policy = RetryPolicy(retryable_errors=(Code.EXECUTION_FAILED, Code.CONNECTION_LOST))
    assert performed(Sequence(ANSWERED), policy, repeatable=True)[0] == "answer"
    for sequence, repeatable, code in (
        (Sequence(UNREACHED), True, Code.CONNECTION_FAILED),
        (Sequence(ANSWERED), False, Code.EXECUTION_FAILED),
        (Sequence(LOST), False, Code.DELIVERY_UNKNOWN),
    ):
        answer, _ = performed(sequence, policy, repeatable=repeatable)
        assert isinstance(answer, HubError)
        assert (answer.code, sequence.tried) == (code, 1)


def test_a_server_that_says_when_is_asked_then_and_not_before() -> None:
    busy = HubError(Code.RATE_LIMIT_EXCEEDED, "busy", retry_after_seconds=7.5)
    answer, slept = performed(Sequence(busy, UNREACHED), RetryPolicy(), repeatable=False)
    assert (answer, slept) == ("answer", [7.5, 2.0])
    patient = HubError(Code.RATE_LIMIT_EXCEEDED, "busy", retry_after_seconds=31.0)
    answer, slept = performed(Sequence(patient), RetryPolicy(), repeatable=False)
    assert isinstance(answer, HubError)
    assert (answer.code, slept) == (Code.RATE_LIMIT_EXCEEDED, [])
