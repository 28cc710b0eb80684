"""A retry policy: whether a run on a task that did not end well is followed by another, without anybody being asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from msgspec import Struct

from kumihimo.domain.errors import InvalidValue
from kumihimo.domain.execution import Execution

# Ends after which another run may do better by itself. A login, a permission or a stop is a person's.
RetryReason = Literal[
    "lost", "spawn_failed", "exited", "signalled", "timed_out", "idle", "rate_limited", "protocol",
]  # fmt: skip
REASONS: tuple[RetryReason, ...] = get_args(RetryReason)
MOST = 10
_BY_SOMEBODY = ("cancelled", "killed")


class RetryPolicy(Struct, frozen=True):
    """`times` is how many more runs there may be after the first one, `on` what a run must have ended by."""

    times: int = 0
    on: tuple[RetryReason, ...] = ("lost",)

    def allows(self, run: Execution) -> bool:
        """Whether another run may follow one that has ended. What somebody wanted to be stopped is never begun again, also
        where its host was gone before it could be; and where the agent itself says how it went, its word stands."""
        over = not run.live and not run.succeeded and run.report is None
        return over and run.stopping not in _BY_SOMEBODY and run.failure_reason in self.on and run.attempt < self.times

    def changed(self, times: int | None, on: Sequence[str] | None) -> RetryPolicy:
        """With what is given; what is None stays."""
        if times is None and on is None:
            return self
        times = self.times if times is None else times
        if not 0 <= times <= MOST:
            raise InvalidValue("retries", "not_a_count", value=times, most=MOST)
        if on is not None and times == 0:
            raise InvalidValue("retry_on", "no_retries")
        return RetryPolicy(times, self.on if on is None else _reasons(on)) if times else RetryPolicy()


def _reasons(words: Sequence[str]) -> tuple[RetryReason, ...]:
    """Each once, in the order in which they are listed everywhere."""
    unknown = [word for word in words if word not in REASONS]
    if unknown:
        raise InvalidValue("retry_on", "not_to_be_retried", value=unknown[0][:80], choices=", ".join(REASONS))
    if not words:
        raise InvalidValue("retry_on", "blank")
    return tuple(reason for reason in REASONS if reason in words)
