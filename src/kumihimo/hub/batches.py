"""Many calls at once: one answer each, in their order, whatever becomes of the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.results import Answer, Metadata, failed

_log = logging.getLogger(__name__)


def require(calls: object, most: object) -> None:
    """HubError where it is no batch."""
    if not _is_list(calls):
        raise HubError(Code.INVALID_REQUEST, f"A batch is a list of {{tool, params}}, and not {repr(calls)[:80]}.")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        raise HubError(Code.INVALID_REQUEST, f"max_parallel is a whole number above 0, and not {repr(most)[:80]}.")


def _is_list(calls: object) -> bool:
    return isinstance(calls, Iterable) and not isinstance(calls, str | bytes | Mapping)


async def perform(calls: Sequence[Any], most: int, execute: Callable[[Any], Awaitable[Answer]]) -> list[Answer]:
    """No more than `most` at once. A call whose execution itself breaks is PARALLEL_EXECUTION_FAILED."""
    places = asyncio.Semaphore(most)

    async def one(call: Any) -> Answer:
        async with places:
            return await execute(call)

    tasks = [asyncio.get_running_loop().create_task(one(call)) for call in calls]
    try:
        if tasks:
            await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
    return [_answer(task, index) for index, task in enumerate(tasks)]


def _answer(task: asyncio.Task[Answer], index: int) -> Answer:
    if task.cancelled():
        reason = "it was cancelled"
    elif (error := task.exception()) is not None:
        _log.error("call %d of a batch broke", index, exc_info=error)
        reason = f"{type(error).__name__}: {error}"
    else:
        return task.result()
    broken = HubError(Code.PARALLEL_EXECUTION_FAILED, f"Call {index} broke: {reason}", {"index": index}, unclear=True)
    return failed(broken, Metadata(0.0, None, 0, False))
