"""Executions: asking for a run, claiming it under a fence, and writing down what came of it.

Who writes for a run gives the fence of its claim; once somebody else has claimed the run, that is StaleFence and
nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from kumihimo.domain.errors import ExecutionNotFound, GroupNotActive, ReportRefused, StaleFence
from kumihimo.domain.event import Change
from kumihimo.domain.execution import Execution, ExecutionStatus, FailureReason, Report, Returned, Stopping
from kumihimo.domain.observation import Observation
from kumihimo.domain.token import strike_out_tokens
from kumihimo.services import stages
from kumihimo.services.references import by_id
from kumihimo.services.scopes import overlapping
from kumihimo.services.service import Service, command, lookup, query
from kumihimo.services.settling import settle_task
from kumihimo.services.sights import Sight, seen_as, sights
from kumihimo.services.wish import Wish
from kumihimo.store.executions import EVERYTHING_FREE, Narrowed, Reach
from kumihimo.store.paging import Page, bounded
from kumihimo.store.store import Transaction

LEASE = timedelta(seconds=30)
# Who asks for all runs gets so many of the newest.
_MOST_RUNS = 1_000
# How many of those that wait are looked at where the first ones may not begin.
_LOOK_BEHIND = 200
Found = list[Execution]
_ALL = Narrowed()
# How many of those that have waited for long are looked at.
_MOST_WAITING = 100


def find(transaction: Transaction, reference: str) -> Execution:
    found = by_id(transaction.executions, "exec_", reference)
    if found is None:
        raise ExecutionNotFound(reference[:80])
    return found


def _without_tokens(report: Report) -> Report:
    """An agent may repeat what it was started with: no token is kept."""
    return msgspec.structs.replace(
        report,
        summary=strike_out_tokens(report.summary),
        error_message=strike_out_tokens(report.error_message) if report.error_message else report.error_message,
        response=strike_out_tokens(report.response) if report.response else report.response,
    )


class Executions(Service):
    @command
    def enqueue(self, transaction: Transaction, wish: Wish) -> Execution | None:
        """Write down what is wanted. None where the task has a running session already."""
        return self._enqueue(transaction, [wish])[0]

    @command
    def enqueue_all(self, transaction: Transaction, wishes: Sequence[Wish]) -> list[Execution | None]:
        """As `enqueue`, for each of these, in their order."""
        return self._enqueue(transaction, wishes)

    def _enqueue(self, transaction: Transaction, wishes: Sequence[Wish]) -> list[Execution | None]:
        for group_id in dict.fromkeys(wish.group_id for wish in wishes if wish.group_id is not None):
            # Locked, so that nobody deletes the group while something is put into it.
            group = transaction.groups.lock(group_id)
            if group is None or group.status != "active":
                raise GroupNotActive(group_id)
        runs = [self._wished(transaction, wish) for wish in wishes]
        added = transaction.executions.add_all([Change(run, f"execution.{run.status}", run.queued_at) for run in runs])
        return [run if there else None for run, there in zip(runs, added, strict=True)]

    def _wished(self, transaction: Transaction, wish: Wish) -> Execution:
        project_id = wish.task.project_id if wish.task else wish.project_id
        number = transaction.projects.take_session_number(project_id) if wish.numbered and project_id else None
        return wish.as_run(wish.id or self.identifiers.new("execution"), number, self.clock())

    @command
    def claim(self, _: Transaction, owner: str, lease: timedelta = LEASE) -> Execution | None:
        """The oldest run that waits, now ours; None where none does. Each goes to one claimer, whoever races."""
        return next(iter(self.claim_some(owner, 1, lease)), None)

    @command
    def claim_some(
        self,
        transaction: Transaction,
        owner: str,
        limit: int,
        lease: timedelta = LEASE,
        fits: Callable[[Execution], bool] = lambda _: True,
        reach: Reach = EVERYTHING_FREE,
    ) -> list[Execution]:
        """As `claim`, for as many as there are slots, of those within our `reach` that `fits` leaves to us."""
        now = self.clock()
        found = transaction.executions.next_queued(now, limit, reach)
        claimed = self._claim_free(transaction, filter(fits, found), owner, now, lease)
        if found and not claimed:
            # All of them are held back by others under way: somebody behind them may be free.
            behind = transaction.executions.next_queued(now, limit + _LOOK_BEHIND, reach)[len(found) :]
            for run in filter(fits, behind):
                claimed += self._claim_free(transaction, [run], owner, now, lease)
                if len(claimed) == limit:
                    break
        return claimed

    def _claim_free(
        self, transaction: Transaction, found: Iterable[Execution], owner: str, now: datetime, lease: timedelta
    ) -> Found:
        """Of two that wait and may write the same, the first is under way when the second is seen."""
        claimed: Found = []
        unsaved: list[Change[Execution]] = []
        for run in found:
            if run.task_id is not None:
                transaction.executions.save_all(unsaved)
                unsaved = []
                if overlapping(transaction, run) is not None:
                    continue
            unsaved.append(run.claim(owner, now + lease, now))
            claimed.append(unsaved[-1].value)
        transaction.executions.save_all(unsaved)
        return claimed

    @command
    def renew(self, transaction: Transaction, execution_id: str, fence: int, lease: timedelta = LEASE) -> Execution:
        now = self.clock()
        return self._save(transaction, self._fenced(transaction, execution_id, fence).renew(now + lease, now))

    @command
    def release(self, transaction: Transaction, execution_id: str, fence: int) -> Execution:
        """Back to the queue: nothing was started."""
        return self._save(transaction, self._fenced(transaction, execution_id, fence).release(self.clock()))

    @command
    def start(self, transaction: Transaction, execution_id: str, fence: int, **facts: Any) -> Execution:
        return self._save(transaction, self._fenced(transaction, execution_id, fence).start(self.clock(), **facts))

    @command
    def complete(self, transaction: Transaction, execution_id: str, fence: int, **facts: Any) -> Execution:
        return self._end(transaction, self._fenced(transaction, execution_id, fence).complete(self.clock(), **facts))

    @command
    def fail(
        self, transaction: Transaction, execution_id: str, fence: int, reason: FailureReason, **facts: Any
    ) -> Execution:
        return self._end(
            transaction, self._fenced(transaction, execution_id, fence).fail(reason, self.clock(), **facts)
        )

    @command
    def time_out(
        self, transaction: Transaction, execution_id: str, fence: int, reason: FailureReason, **facts: Any
    ) -> Execution:
        return self._end(
            transaction, self._fenced(transaction, execution_id, fence).time_out(reason, self.clock(), **facts)
        )

    @command
    def cancel(self, transaction: Transaction, execution_id: str, fence: int, **facts: Any) -> Execution:
        return self._end(transaction, self._fenced(transaction, execution_id, fence).cancel(self.clock(), **facts))

    @command
    def lose(self, transaction: Transaction, execution_id: str, fence: int, **facts: Any) -> Execution:
        return self._end(transaction, self._fenced(transaction, execution_id, fence).lose(self.clock(), **facts))

    @command
    def stop(self, transaction: Transaction, reference: str, why: Stopping = "cancelled") -> Execution:
        """Ask for the end of a run. What has not started is over at once; the rest is ended by its host."""
        run = self._locked(transaction, find(transaction, reference).id)
        if not run.live or (run.stopping and (why != "killed" or run.stopping == "killed")):
            return run
        if run.status in ("planned", "queued"):
            return self._end(transaction, run.cancel(self.clock()))
        return self._save(transaction, run.stop(why, self.clock()))

    def observe(self, observations: Iterable[Observation]) -> None:
        """What streams have shown, many at once. Nobody is woken for it."""
        seen = list(observations)
        # It can be read from the captures once more.
        self.store.write_lightly(
            lambda transaction, light: transaction.observations.save_all(seen, self.clock(), light)
        )

    @command
    def come_back(self, transaction: Transaction, execution_id: str, log_path: str, **known: Any) -> None:
        """What its host knows of a run that was given up while it was away; once, and of a lost one alone."""
        run = self._locked(transaction, execution_id)
        if run.status == "lost" and run.returned is None:
            self._save(transaction, run.come_back(Returned(self.clock(), **known), log_path))

    @query
    def lost_of(self, transaction: Transaction, host_id: str) -> list[Execution]:
        return transaction.executions.lost_of(host_id)

    @command
    def lose_expired(
        self, transaction: Transaction, spared: Callable[[Execution], bool] = lambda _: False
    ) -> list[Execution]:
        """Every claim whose lease ran out, whose host is gone and that nobody speaks for: its outcome is not known. Retries
        that such a host was going to begin wait for another one."""
        now = self.clock()
        lost: list[Execution] = []
        for found in transaction.executions.expired(now):
            execution = self._locked(transaction, found.id)
            if execution.lease_until and execution.lease_until < now and not spared(execution):
                lost.append(self._end(transaction, execution.lose(now)))
        self._unplace_stranded(transaction, now)
        return lost

    def _unplace_stranded(self, transaction: Transaction, now: datetime) -> None:
        """Nobody asked for that very host, and what waits for it has not begun: another one may do it."""
        for found in transaction.executions.stranded_retries(now):
            run = self._locked(transaction, found.id)
            task = transaction.tasks.get(run.task_id or "")
            if run.status == "queued" and task is not None:
                self._save(transaction, run.unplace(task.host, now))

    @command
    def report(self, transaction: Transaction, execution_id: str, report: Report) -> Execution:
        """What the agent says of its run, once. The same again changes nothing; something else is refused."""
        report = _without_tokens(report)
        run = self._locked(transaction, execution_id)
        if run.report is not None:
            if msgspec.structs.replace(report, reported_at=run.report.reported_at) == run.report:
                return run
            raise ReportRefused(execution_id, "reported_already")
        if run.status in ("planned", "queued") or (run.started_at is None and not run.live):
            raise ReportRefused(execution_id, "not_started")
        said = run.say(report, self.clock())
        # Of a run that is over it is kept as a word beside it: what was decided by its end stays so.
        return self._end(transaction, said) if run.live else self._save(transaction, said)

    @lookup
    def show(self, transaction: Transaction, reference: str) -> Execution:
        return find(transaction, reference)

    @query
    def sight(self, transaction: Transaction, reference: str) -> Sight:
        """A run as far as it can be seen, and what is known of its traces."""
        sight = self._sights(transaction, [find(transaction, reference)])[0]
        if sight.execution.worktree is None:
            return sight
        return msgspec.structs.replace(sight, evidence=transaction.evidence.get(sight.execution.id))

    @query
    def sights(self, transaction: Transaction, references: Iterable[str]) -> list[Sight]:
        """Several runs, each of which must be there."""
        return self._sights(transaction, [find(transaction, reference) for reference in references])

    @query
    def sights_of(
        self,
        transaction: Transaction,
        *,
        group_id: str | None = None,
        status: str | None = None,
        narrowed: Narrowed = _ALL,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Sight]:
        """Runs of groups and workers, newest first; those of one group all at once and in their order."""
        if group_id is not None and narrowed == _ALL:
            return Page(self._sights(transaction, transaction.executions.of_group(group_id, status)))
        most = _MOST_RUNS if limit is None else bounded(limit)
        page = transaction.executions.page_of_runs(status, group_id, narrowed, limit=most, cursor=cursor)
        return Page(self._sights(transaction, page.items), page.next_cursor)

    @lookup
    def certainly_wait(self, transaction: Transaction, ids: set[str], *, all_of_them: bool) -> bool:
        """Whether who waits for these runs, named in full, has to wait on: one glance for who is woken again and again."""
        if not ids:
            return False
        known, undone = transaction.executions.undone_among(ids)
        return known == len(ids) and undone > 0 and (all_of_them or undone == known)

    @query
    def unseen(self, transaction: Transaction, runs: Iterable[Execution]) -> list[Sight]:
        """Runs that were asked for just now: there is nothing to be seen of them yet."""
        return seen_as(transaction, list(runs), {}, self.clock())

    def _sights(self, transaction: Transaction, runs: list[Execution]) -> list[Sight]:
        return sights(transaction, runs, self.clock())

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
    def counts(self, transaction: Transaction) -> dict[str, int]:
        """How many runs of groups and workers there are in each state that is not an end."""
        return transaction.executions.live_counts()

    @lookup
    def waiting(self, transaction: Transaction, reach: Reach = EVERYTHING_FREE) -> bool:
        """Whether something is queued that may be claimed now."""
        return transaction.executions.any_queued(self.clock(), reach)

    @lookup
    def waiting_since(self, transaction: Transaction, age: timedelta, beyond: Reach | None = None) -> Found:
        """What has been waiting for longer than that, the oldest first; what is meant for a host and `beyond` its reach alone
        where that is asked for."""
        return transaction.executions.queued_before(self.clock() - age, _MOST_WAITING, beyond)

    @lookup
    def to_be_placed(self, transaction: Transaction, answers: Collection[str]) -> Found:
        """Workers that wait for a host, which answers to one of these words, to make their place; and retries, which wait for
        any host that can."""
        return transaction.executions.to_be_placed(answers)

    @lookup
    def to_be_stopped(self, transaction: Transaction, owner: str) -> list[Execution]:
        """Runs of this host that are to end."""
        return transaction.executions.stopping(owner)

    @query
    def stage_before(self, transaction: Transaction, run: Execution) -> list[Sight]:
        """The runs of the stage before a run's own."""
        if run.group_id is None or not run.stage:
            return []
        return self._sights(transaction, transaction.executions.of_stage(run.group_id, run.stage - 1))

    @query
    def of_session(self, transaction: Transaction, session_id: str) -> Execution | None:
        """The run that an agent's session has under way."""
        return next(iter(transaction.executions.of_session(session_id)), None)

    @query
    def count_live(self, transaction: Transaction) -> int:
        return transaction.executions.count("status IN ('planned', 'queued', 'starting', 'running')")

    def _locked(self, transaction: Transaction, execution_id: str) -> Execution:
        """The run, and before it the group whose stage may be over with it: whoever locks both does so in this order."""
        execution = transaction.executions.lock_unstaged(execution_id)
        if execution is None:
            transaction.groups.lock_of_stage(execution_id)
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

    def _end(self, transaction: Transaction, change: Change[Execution]) -> Execution:
        """A change that makes a run done: its stage may be over with it."""
        run = self._save(transaction, change)
        stages.settle(transaction, run, change.at)
        settle_task(transaction, run, change.at, self.enqueue)
        return run
