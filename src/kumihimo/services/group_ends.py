"""The ends of a group: the events after which everything that was asked for in it until then was done.

There may be several: a group can be given more to do. They follow from the log alone, so that whoever reads it again, or
later, finds the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from itertools import accumulate

from msgspec import Struct

from kumihimo.domain.execution import Execution
from kumihimo.store.store import Transaction

CREATED = ("execution.planned", "execution.queued")
ENDED = tuple(f"execution.{word}" for word in ("completed", "failed", "timed_out", "cancelled", "lost"))
# Done is who has reported or ended, whichever came first.
DONE = ("execution.reported", *ENDED)


class GroupEnds(Struct, frozen=True):
    """`cursors` of its ends up to some event, oldest first, and the runs that were done by then."""

    cursors: list[str]
    runs: list[Execution]


def ends_of(transaction: Transaction, group_id: str, until: str, done_by: Collection[str] = DONE) -> GroupEnds:
    """`done_by` are the kinds of events of which the first makes a run done."""
    runs = transaction.executions.of_group(group_id)
    ids = [run.id for run in runs]
    done = {run: int(cursor) for run, cursor in transaction.events.first_of(done_by, ids, until).items()}
    created = {run: int(cursor) for run, cursor in transaction.events.first_of(CREATED, ids, until).items()}
    # Whose beginning was folded away began before everything else.
    begun = sorted((created.get(run, 0), done.get(run)) for run in created.keys() | done.keys())
    latest = list(accumulate((float("inf") if end is None else end for _, end in begun), max))
    begins = [begin for begin, _ in begun]
    ends = [cursor for cursor in sorted(done.values()) if latest[bisect_right(begins, cursor) - 1] <= cursor]
    return GroupEnds([str(cursor) for cursor in ends], [run for run in runs if run.id in done])
