"""The calls that the servers get. Encoded beforehand, so that the driver costs the same for all."""

from __future__ import annotations

from collections.abc import Sequence

from driving.messages import DISTINCT, call


def calls_of_get_task(tasks: Sequence[str]) -> list[bytes]:
    """Every task in turn, so that no answer is the one before."""
    return [call(number, "get_task", {"task_id": tasks[number % len(tasks)]}) for number in range(1, DISTINCT + 1)]


def calls_of_add() -> list[bytes]:
    return [call(number, "add", {"a": number, "b": 1}) for number in range(1, DISTINCT + 1)]
