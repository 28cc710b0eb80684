"""The panorama: the board for somebody who watches it. First all that matters now, then what becomes of it."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from kumihimo.domain.group import Group
from kumihimo.services import handoffs, tasks
from kumihimo.services.handoffs import HandoffView
from kumihimo.services.service import Service, query
from kumihimo.services.sights import Sight, sights
from kumihimo.services.tasks import TaskView
from kumihimo.store.store import Transaction

# A page shows what goes on and what was last; the rest is history, which is asked for by the page.
_MOST_GROUPS = 300
_MOST_LIVE = 5_000
_MOST_ENDED = 300
_MOST_TASKS = 2_000
_MOST_ENDED_TASKS = 200


class Panorama(msgspec.Struct, frozen=True):
    """`cursor` is where the events begin that are not in it."""

    cursor: str
    groups: list[Group]
    runs: list[Sight]
    tasks: list[TaskView]


class Watch(Service):
    @query
    def panorama(self, transaction: Transaction) -> Panorama:
        """All that is under way, and the newest of what is over."""
        cursor = transaction.events.newest()
        groups = [group for group in transaction.groups.newest(_MOST_GROUPS) if group.status == "active"]
        runs = transaction.executions.newest_and_live(_MOST_ENDED, _MOST_LIVE)
        shown = transaction.tasks.newest_and_open(_MOST_ENDED_TASKS, _MOST_TASKS)
        return Panorama(cursor, groups, sights(transaction, runs, self.clock()), tasks.view(transaction, shown))

    @query
    def runs(self, transaction: Transaction, identifiers: Collection[str]) -> dict[str, Sight]:
        """These runs as they are now, with what is known of the traces of those that work in a worktree."""
        found = transaction.executions.by_ids(identifiers)
        return {
            sight.execution.id: sight
            if sight.execution.worktree is None
            else msgspec.structs.replace(sight, evidence=transaction.evidence.get(sight.execution.id))
            for sight in sights(transaction, found, self.clock())
        }

    @query
    def tasks(self, transaction: Transaction, identifiers: Collection[str]) -> dict[str, TaskView]:
        found = list(transaction.tasks.by_ids(identifiers).values())
        return {view.task.id: view for view in tasks.view(transaction, found)}

    @query
    def handoffs(self, transaction: Transaction, identifiers: Collection[str]) -> dict[str, HandoffView]:
        found = [it for it in map(transaction.handoffs.get, identifiers) if it is not None]
        return {view.handoff.id: view for view in handoffs.view(transaction, found)}

    @query
    def positions(self, transaction: Transaction) -> dict[str, int]:
        """How far the stream of each run that is under way was read."""
        return transaction.observations.positions_of_running()
