"""Trying again, only where that is safe.

A call is sent a second time where it has certainly not been delivered, or where carrying it out twice does no harm.
Otherwise nobody can say what has become of it, and that is the answer: DELIVERY_UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kumihimo.hub.configuration import RetryPolicy
from kumihimo.hub.errors import PASSING, Code, HubError
from kumihimo.hub.timing import Timing

Result = TypeVar("Result")


class Tries:
    """The tries of one call. `count` is how many there were; `repeatable` whether carrying it out twice does no harm, which
    is not known before its tool is."""

    def __init__(self, policy: RetryPolicy, timing: Timing, *, patience_seconds: float) -> None:
        self.count = 0
        self.repeatable = False
        self._unclear: HubError | None = None
        self._policy = policy
        self._timing = timing
        # Nobody waits longer to be let in than for an answer.
        self._patience_seconds = patience_seconds

    def learn(self, repeatable: bool) -> None:
        """What its tool says now. HubError where it was sent before, and is not to be sent again after all."""
        self.repeatable = repeatable
        if self._unclear is not None and not repeatable:
            raise _unknown(self._unclear)

    async def perform(self, attempt: Callable[[], Awaitable[Result]], failed: HubError | None = None) -> Result:
        """The answer of the first try that has one. HubError where none has. `failed` is what came of one that was made
        already."""
        while True:
            self.count += 1
            if failed is None:
                try:
                    return await attempt()
                except HubError as error:
                    failed = error
            wait, failed = self._wait(failed), None
            await self._timing.sleep(wait)

    def _wait(self, error: HubError) -> float:
        """How long until the next try. Raises what the call answers where there is none."""
        if error.unclear:
            self._unclear = error
            if not self.repeatable:
                raise _unknown(error) from error
        if (error.delivered and not self.repeatable) or not self._retried(error):
            raise error
        retries = self.count - 1
        if retries >= self._policy.max_retries:
            raise (_exhausted(error, retries) if retries else error) from error.__cause__
        wait = max(self._policy.delay_seconds(retries), error.retry_after_seconds or 0.0)
        if error.retry_after_seconds is not None and error.retry_after_seconds > self._patience_seconds:
            raise error
        return wait

    def _retried(self, error: HubError) -> bool:
        named = self._policy.retryable_errors
        return error.retryable and error.code in PASSING if named is None else error.code in named


def _unknown(error: HubError) -> HubError:
    return HubError(
        Code.DELIVERY_UNKNOWN,
        f"{error.message}. It is not known whether the call was carried out; it was not sent again. "
        "Look at what it would have changed before you repeat it.",
        {**(error.details or {}), "cause": error.code},
        delivered=True,
    )


def _exhausted(error: HubError, retries: int) -> HubError:
    return HubError(
        Code.MAX_RETRIES_EXCEEDED,
        f"Given up after {retries} {'retry' if retries == 1 else 'retries'}: {error.message}",
        {**(error.details or {}), "last": error.code},
        delivered=error.delivered,
        retryable=error.retryable,
    )
