"""Stages: the next one begins in the very transaction that makes the last run of the one before done."""

from __future__ import annotations

from datetime import datetime

from kumihimo.domain.execution import Execution
from kumihimo.store.store import Transaction


def settle(transaction: Transaction, execution: Execution, now: datetime) -> list[Execution]:
    """After a run became done: start the next stage where it was the last, or give the rest up. Answers what was queued.

    The group is locked before anybody looks: two that end in the same instant must not each believe the other still runs.
    """
    if execution.group_id is None or execution.stage is None:
        return []
    group = transaction.groups.lock(execution.group_id)
    stage: int = execution.stage
    if group is None or group.stages is None or group.stage != stage:
        return []
    failed = False
    while True:
        runs = transaction.executions.of_stage(group.id, stage)
        if not all(run.done for run in runs):
            return []
        failed = failed or not all(run.succeeded for run in runs)
        if failed and group.on_failure == "stop":
            _give_up(transaction, group.id, stage, now)
            return []
        if stage + 1 >= (group.stages or 0):
            return []
        stage += 1
        advanced = group.advance(stage, now)
        transaction.groups.save(advanced)
        group = advanced.value
        queued = _queue(transaction, group.id, stage, now)
        if queued:
            return queued
        # Everything in it was cancelled while it waited: it is done already.


def _queue(transaction: Transaction, group_id: str, stage: int, now: datetime) -> list[Execution]:
    queued: list[Execution] = []
    for found in transaction.executions.of_stage(group_id, stage):
        run = transaction.executions.lock(found.id)
        if run is not None and run.status == "planned":
            change = run.queue(now)
            transaction.executions.save(change)
            queued.append(change.value)
    return queued


def _give_up(transaction: Transaction, group_id: str, stage: int, now: datetime) -> None:
    for found in transaction.executions.of_group(group_id):
        if found.stage is None or found.stage <= stage or found.status != "planned":
            continue
        run = transaction.executions.lock(found.id)
        if run is not None and run.status == "planned":
            transaction.executions.save(run.cancel(now))
