"""Executions: asking for a run, claiming it under a fence, and writing down what came of it.

Who writes for a run gives the fence of its claim; once somebody else has claimed the run, that is StaleFence and
nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any

import msgspec

from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import ExecutionNotFound, GroupNotActive, StaleFence
from kumihimo.domain.event import Change
from kumihimo.domain.execution import Execution, ExecutionStatus, FailureReason, Origin, Report
from kumihimo.domain.task import Task
from kumihimo.services.references import by_id
from kumihimo.services.service import Service, command, lookup, query
from kumihimo.store.paging import Page, bounded
from kumihimo.store.store import Transaction

LEASE = timedelta(seconds=30)


class Wish(msgspec.Struct, frozen=True):
    """A run that somebody asks for."""

    agent: Agent
    origin: Origin
    prompt: str = ""
    project_id: str | None = None
    task: Task | None = None
    group_id: str | None = None
    session_id: str | None = None
    client: str | None = None
    model: str | None = None
    working_directory: str | None = None
    timeout_ms: int | None = None
    numbered: bool = False


def find(transaction: Transaction, reference: str) -> Execution:
    found = by_id(transaction.executions, "exec_", reference)
    if found is None:
        raise ExecutionNotFound(reference[:80])
    return found


class Executions(Service):
    @command
    def enqueue(self, transaction: Transaction, wish: Wish) -> Execution | None:
        """Write down what is wanted. None where the task has a running session already."""
        now = self.clock()
        if wish.group_id is not None:
            # Locked, so that nobody deletes the group while something is put into it.
            group = transaction.groups.lock(wish.group_id)
            if group is None or group.status != "active":
                raise GroupNotActive(wish.group_id)
        project_id = wish.task.project_id if wish.task else wish.project_id
        number = transaction.projects.take_session_number(project_id) if wish.numbered and project_id else None
        execution = Execution(
            id=self.identifiers.new("execution"),
            number=number,
            project_id=project_id,
            task_id=wish.task.id if wish.task else None,
            agent_id=wish.agent.id,
            group_id=wish.group_id,
            session_id=wish.session_id,
            origin=wish.origin,
            client=wish.client or wish.agent.client,
            model=wish.model or wish.agent.model,
            prompt=wish.prompt,
            working_directory=wish.working_directory,
            timeout_ms=wish.timeout_ms,
            status="queued",
            queued_at=now,
        )
        added = transaction.executions.add(Change(execution, "execution.queued", now))
        return execution if added else None

    @command
    def claim(self, transaction: Transaction, owner: str, lease: timedelta = LEASE) -> Execution | None:
        """The oldest run that waits, now ours; None where none does. Each goes to one claimer, whoever races."""
        waiting = transaction.executions.next_queued()
        if waiting is None:
            return None
        now = self.clock()
        return self._save(transaction, waiting.claim(owner, now + lease, now))

    @command
    def renew(self, transaction: Transaction, execution_id: str, fence: int, lease: timedelta = LEASE) -> Execution:
        now = self.clock()
        return self._save(transaction, self._fenced(transaction, execution_id, fence).renew(now + lease, now))

    @command
    def release(self, transaction: Transaction, execution_id: str, fence: int) -> Execution:
        """Back to the queue: nothing was started."""
        return self._save(transaction, self._fenced(transaction, execution_id, fence).release(self.clock()))

    @command
    def start(self, transaction: Transaction, execution_id: str, fence: int) -> Execution:
        return self._save(transaction, self._fenced(transaction, execution_id, fence).start(self.clock()))

    @command
    def complete(self, transaction: Transaction, execution_id: str, fence: int, **facts: Any) -> Execution:
        return self._save(transaction, self._fenced(transaction, execution_id, fence).complete(self.clock(), **facts))

    @command
    def fail(
        self, transaction: Transaction, execution_id: str, fence: int, reason: FailureReason, **facts: Any
    ) -> Execution:
        return self._save(
            transaction, self._fenced(transaction, execution_id, fence).fail(reason, self.clock(), **facts)
        )

    @command
    def time_out(self, transaction: Transaction, execution_id: str, fence: int, reason: FailureReason) -> Execution:
        return self._save(transaction, self._fenced(transaction, execution_id, fence).time_out(reason, self.clock()))

    @command
    def cancel(self, transaction: Transaction, execution_id: str, fence: int) -> Execution:
        return self._save(transaction, self._fenced(transaction, execution_id, fence).cancel(self.clock()))

    @command
    def lose_expired(
        self, transaction: Transaction, spared: Callable[[Execution], bool] = lambda _: False
    ) -> list[Execution]:
        """Every claim whose lease ran out and that nobody speaks for: its outcome is not known."""
        now = self.clock()
        lost: list[Execution] = []
        for found in transaction.executions.expired(now):
            execution = transaction.executions.lock(found.id)
            if execution and execution.lease_until and execution.lease_until < now and not spared(execution):
                lost.append(self._save(transaction, execution.lose(now)))
        return lost

    @command
    def report(self, transaction: Transaction, execution_id: str, report: Report) -> Execution:
        """What the agent says of its run."""
        return self._save(transaction, self._locked(transaction, execution_id).say(report, self.clock()))

    @lookup
    def show(self, transaction: Transaction, reference: str) -> Execution:
        return find(transaction, reference)

    @query
    def list(
        self,
        transaction: Transaction,
        *,
        task_id: str | None = None,
        agent_id: str | None = None,
        statuses: Collection[ExecutionStatus] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Execution]:
        """Newest first."""
        return transaction.executions.page(
            task_id=task_id, agent_id=agent_id, statuses=statuses, limit=bounded(limit), cursor=cursor
        )

    @query
    def of_session(self, transaction: Transaction, session_id: str) -> Execution | None:
        """The run that an agent's session has under way."""
        return next(iter(transaction.executions.of_session(session_id)), None)

    @query
    def count_live(self, transaction: Transaction) -> int:
        return transaction.executions.count("status IN ('queued', 'starting', 'running')")

    def _locked(self, transaction: Transaction, execution_id: str) -> Execution:
        execution = transaction.executions.lock(execution_id)
        if execution is None:
            raise ExecutionNotFound(execution_id[:80])
        return execution

    def _fenced(self, transaction: Transaction, execution_id: str, fence: int) -> Execution:
        execution = self._locked(transaction, execution_id)
        if execution.fence != fence:
            raise StaleFence(execution_id)
        return execution

    def _save(self, transaction: Transaction, change: Change[Execution]) -> Execution:
        transaction.executions.save(change)
        return change.value
