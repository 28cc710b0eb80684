"""Retries: runs that follow others by the policy of their task, and the hosts that make their places.

One that needs a place is planned, for any host that has its project and its client and that its task may run on. A host takes
it before it makes anything, so that one alone does; who took it and is gone or going has it no longer.
"""

from __future__ import annotations

from msgspec.structs import replace

from kumihimo.domain.execution import Execution
from kumihimo.domain.host import Host
from kumihimo.services.service import Service, command, lookup
from kumihimo.store.store import Transaction


class Retries(Service):
    @lookup
    def waiting(self, transaction: Transaction) -> bool:
        """Whether a place is to be made somewhere."""
        return transaction.executions.any_retry()

    @lookup
    def within_reach(self, transaction: Transaction, host_id: str) -> list[Execution]:
        """Those whose place a host may make, the oldest first."""
        now = self.clock()
        here = transaction.hosts.get(host_id)
        if here is None or here.state(now) != "alive":
            return []
        return transaction.executions.retries_for(here, now)

    @command
    def take(self, transaction: Transaction, execution_id: str, host_id: str) -> Execution | None:
        """It is this host's from now on; None where another one has it, or this one can't do it or takes nothing more."""
        run = transaction.executions.lock(execution_id)
        if run is None or run.status != "planned" or not run.attempt or not self._may_take(transaction, run, host_id):
            return None
        if run.host == host_id:
            return run
        change = run.take(host_id, self.clock())
        transaction.executions.save(change)
        return change.value

    def _may_take(self, transaction: Transaction, run: Execution, host_id: str) -> bool:
        here = transaction.hosts.get(host_id)
        holder = transaction.hosts.get(run.host) if run.host not in (None, host_id) else None
        if here is None or not self._takes_work(here) or (holder is not None and self._takes_work(holder)):
            return False
        task = transaction.tasks.get(run.task_id or "")
        # Where it was taken before says nothing about where its task may run.
        return task is not None and here.suits(replace(run, host=task.host))

    def _takes_work(self, host: Host) -> bool:
        return host.state(self.clock()) == "alive"

    @lookup
    def overtaken(self, transaction: Transaction, host_id: str) -> list[Execution]:
        """Runs of a host that were given up while it was away, and that others have followed: their agents are one too many."""
        return transaction.executions.overtaken(host_id)
