"""Executions: the queue of wishes, the claims on them, and what came of each."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from msgspec import Struct

from kumihimo.domain.execution import Execution, ExecutionStatus, Report, Returned
from kumihimo.domain.host import Host
from kumihimo.store.filters import Where
from kumihimo.store.mapping import TableMapping, microseconds
from kumihimo.store.paging import Page, decode, encode
from kumihimo.store.repository import Repository

# What a run counts as for who looks from outside: its own word first, then what the process did.
_SUCCESS = """report LIKE '{"status":"success"%'"""
_SEEN_AS = {
    "all": "1 = 1",
    "queued": "status IN ('planned', 'queued')",
    "running": "report IS NULL AND status IN ('starting', 'running')",
    "completed": f"(report IS NULL AND status = 'completed' OR {_SUCCESS})",
    "failed": "(report IS NULL AND status IN ('failed', 'timed_out', 'cancelled', 'lost') "
    f"OR report IS NOT NULL AND NOT {_SUCCESS})",
    "timedOut": "report IS NULL AND status = 'timed_out'",
    "cancelled": "report IS NULL AND status = 'cancelled'",
    "lost": "report IS NULL AND status = 'lost'",
    "resultReported": "report IS NOT NULL",
}


class Narrowed(Struct, frozen=True):
    """Which runs are looked for; what is None does not matter."""

    agent_id: str | None = None
    project_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Reach(Struct, frozen=True):
    """What one host may claim of what waits: what is pinned nowhere, or to one of the words that it `answers` to. Where other
    hosts are there, only what it has the program for and what is not of the projects that it is `without`; and whatever it
    `also` claims because nobody else can."""

    answers: tuple[str, ...] = ()
    clients: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    def condition(self) -> tuple[str, list[str]]:
        """As SQL, with its values."""
        text, values = self._meant()
        if self.clients is None:
            return text, values
        able, these = self._able()
        return f"{text} AND ({able} OR {_among('id', self.also)})", [*values, *these, *self.also]

    def beyond(self) -> tuple[str, list[str]]:
        """What is meant for the host although it can't do it."""
        text, values = self._meant()
        able, these = self._able()
        return f"{text} AND NOT ({able})", [*values, *these]

    def _meant(self) -> tuple[str, list[str]]:
        return f"(host IS NULL OR {_among('host', self.answers)})", [*self.answers]

    def _able(self) -> tuple[str, list[str]]:
        text, values = _among("client", self.clients or ()), [*(self.clients or ())]
        if not self.without:
            return text, values
        return (
            f"{text} AND (project_id IS NULL OR NOT {_among('project_id', self.without)})",
            [*values, *self.without],
        )


def _among(column: str, values: Collection[str]) -> str:
    return f"{column} IN ({', '.join('?' for _ in values)})" if values else "1 = 0"


EVERYTHING_FREE = Reach()
_UNVERIFIED = (
    "unverified = 1 AND status NOT IN ('planned', 'queued', 'starting', 'running') AND (host_id = ? OR host_id IS NULL)"
)
_IN_WORKTREE = "status IN ('starting', 'running') AND worktree IS NOT NULL AND (host_id = ? OR host_id IS NULL)"
_ATTENDED = "status = 'running' AND origin = 'session' AND host_id = ?"
_ANYTHING = " OR ".join(
    f"EXISTS (SELECT 1 FROM executions WHERE {it})" for it in (_UNVERIFIED, _IN_WORKTREE, _ATTENDED)
)
_RETRY = "status = 'planned' AND attempt > 0"
_QUEUED = (
    "status = 'queued' AND origin IN ('group', 'worker') AND NOT EXISTS "
    "(SELECT 1 FROM parked_clients WHERE parked_clients.client = executions.client AND until > ?)"
)


def _any_queued(now: datetime, reach: Reach) -> tuple[str, list[Any]]:
    condition, values = reach.condition()
    return f"SELECT 1 FROM executions WHERE {_QUEUED} AND {condition}", [microseconds(now), *values]


def _to_be_placed(answers: Collection[str]) -> str:
    return f"status = 'planned' AND origin = 'worker' AND (attempt > 0 OR {_among('host', answers)})"


class Executions(Repository[Execution]):
    mapping = TableMapping(
        "executions",
        Execution,
        times=("queued_at", "started_at", "ended_at", "lease_until"),
        flags=("auto", "skip_checks", "unverified"),
        json={
            "artifacts": tuple[str, ...],
            "report": Report,
            "survivors": tuple[int, ...],
            "returned": Returned,
            "writes": tuple[str, ...],
        },
    )

    def lock_unstaged(self, identifier: str) -> Execution | None:
        """As `lock`, of a run that is in no stage, as most are: nothing has to be locked before it. None where it is in one."""
        row_lock = "FOR NO KEY UPDATE" if self._connection.dialect.row_locks else ""
        rows = self._connection.execute(
            f"{self.mapping.by_id} AND (group_id IS NULL OR stage IS NULL) {row_lock}", (identifier,)
        )
        return self.mapping.value(rows[0]) if rows else None

    def numbered(self, project_id: str, number: int) -> Execution | None:
        return self.one("project_id = ? AND number = ?", project_id, number)

    def next_queued(self, now: datetime, limit: int = 1, reach: Reach = EVERYTHING_FREE) -> list[Execution]:
        """The oldest wishes that nobody is about to claim and whose client is not parked; ours until we commit."""
        condition, values = reach.condition()
        return self.many(
            f"WHERE {_QUEUED} AND {condition} ORDER BY queued_at, id LIMIT ? {self._connection.dialect.skip_locked}",
            (microseconds(now), *values, limit),
        )

    def any_queued(self, now: datetime, reach: Reach = EVERYTHING_FREE) -> bool:
        question, values = _any_queued(now, reach)
        return bool(self._connection.execute(f"{question} LIMIT 1", values))

    @staticmethod
    def awaited_by(host_id: str, now: datetime, reach: Reach) -> tuple[str, list[Any]]:
        """What waits for a host, as three expressions with their values: a part of a statement that is made anyhow."""
        work, values = _any_queued(now, reach)
        places = f"SELECT 1 FROM executions WHERE {_to_be_placed((host_id,))}"
        return f"EXISTS ({work}), EXISTS ({places}), ({_ANYTHING})", [*values, host_id, *(host_id,) * 3]

    def queued_before(self, moment: datetime, limit: int, reach: Reach | None = None) -> list[Execution]:
        """The oldest of those that have been waiting for long; of those alone that are meant for a host and beyond its reach,
        where one is given."""
        beyond, values = ("1 = 1", []) if reach is None else reach.beyond()
        return self.many(
            "WHERE status = 'queued' AND origin IN ('group', 'worker') AND queued_at < ? "
            f"AND {beyond} ORDER BY queued_at, id LIMIT ?",
            (microseconds(moment), *values, limit),
        )

    def to_be_placed(self, answers: Collection[str], limit: int = 20) -> list[Execution]:
        """Workers that wait for a place on one host, whoever asked for them; and behind them retries, wherever those may go."""
        return self.many(f"WHERE {_to_be_placed(answers)} ORDER BY attempt, queued_at, id LIMIT ?", (*answers, limit))

    def any_retry(self) -> bool:
        """Whether a retry waits for somebody to make its place."""
        return bool(self._connection.execute(f"SELECT 1 FROM executions WHERE {_RETRY} LIMIT 1"))

    def retries_for(self, host: Host, now: datetime, limit: int = 20) -> list[Execution]:
        """Retries that a host could do, and that no host has taken which takes work."""
        answers = (host.id, host.name, *host.labels)
        return self.many(
            f"WHERE {_RETRY} AND {_among('client', host.clients)} AND {_among('project_id', host.projects)} "
            f"AND (host IS NULL OR {_among('host', answers)} OR EXISTS (SELECT 1 FROM hosts WHERE hosts.id = executions.host "
            "AND (hosts.lease_until <= ? OR hosts.draining = 1))) ORDER BY queued_at, id LIMIT ?",
            (*host.clients, *host.projects, *answers, microseconds(now), limit),
        )

    def stranded_retries(self, now: datetime, limit: int = 100) -> list[Execution]:
        """Retries whose place was made by a host that was gone before it began with them."""
        return self.many(
            "WHERE status = 'queued' AND attempt > 0 AND worktree IS NOT NULL AND EXISTS (SELECT 1 FROM hosts "
            "WHERE hosts.id = executions.host AND hosts.lease_until <= ?) ORDER BY queued_at, id LIMIT ?",
            (microseconds(now), limit),
        )

    def is_overtaken(self, run: Execution) -> bool:
        """Whether a retry has followed it."""
        return bool(self.count("task_id = ? AND previous_id = ? AND attempt > 0", run.task_id, run.id))

    def stopping(self, owner: str) -> list[Execution]:
        return self.many("WHERE owner = ? AND stopping IS NOT NULL", (owner,))

    def owned(self, owner: str) -> list[Execution]:
        """What one host has claimed and not ended."""
        return self.many("WHERE owner = ? ORDER BY queued_at, id", (owner,))

    def of_group(self, group_id: str, status: str | None = None) -> list[Execution]:
        where = f"AND {_SEEN_AS[status]}" if status else ""
        return self.many(f"WHERE group_id = ? {where} ORDER BY stage, queued_at, id", (group_id,))

    def page_of_runs(
        self, status: str | None, group_id: str | None, narrowed: Narrowed, *, limit: int, cursor: str | None
    ) -> Page[Execution]:
        """Runs that we start, newest first, by the word that the outside has for how they are."""
        where = Where().condition("origin IN ('group', 'worker')").equal("group_id", group_id)
        where.equal("agent_id", narrowed.agent_id).equal("project_id", narrowed.project_id)
        if narrowed.since is not None:
            where.condition("queued_at >= ?", microseconds(narrowed.since))
        if narrowed.until is not None:
            where.condition("queued_at < ?", microseconds(narrowed.until))
        if status:
            where.condition(_SEEN_AS[status])
        if cursor is not None:
            where.condition("(queued_at, id) < (?, ?)", *decode(cursor, int, str))
        return self._page(where, limit)

    def by_ids(self, identifiers: Collection[str]) -> list[Execution]:
        if not identifiers:
            return []
        where = Where().among("id", identifiers)
        return self.many(where.text, where.values)

    def newest_and_live(self, newest: int, live: int) -> list[Execution]:
        """What is under way, whoever runs it, and the newest of the rest; in the order in which they were asked for."""
        recent = self.many("ORDER BY queued_at DESC, id DESC LIMIT ?", (newest,))
        under_way = self.many(
            "WHERE status IN ('planned', 'queued', 'starting', 'running') ORDER BY queued_at DESC, id DESC LIMIT ?",
            (live,),
        )
        found = {run.id: run for run in (*recent, *under_way)}
        return sorted(found.values(), key=lambda run: (run.queued_at, run.id))

    def undone_among(self, ids: Collection[str]) -> tuple[int, int]:
        """How many of these there are, and how many of them have neither reported nor ended."""
        marks = ", ".join("?" for _ in ids)
        rows = self._connection.execute(
            "SELECT count(*), coalesce(sum(CASE WHEN report IS NULL AND status IN ('planned', 'queued', 'starting', 'running') "
            f"THEN 1 ELSE 0 END), 0) FROM executions WHERE id IN ({marks})",
            list(ids),
        )
        return rows[0][0], int(rows[0][1])

    def of_stage(self, group_id: str, stage: int) -> list[Execution]:
        return self.many("WHERE group_id = ? AND stage = ? ORDER BY queued_at, id", (group_id, stage))

    def live_counts(self) -> dict[str, int]:
        rows = self._connection.execute(
            "SELECT status, count(*) FROM executions WHERE status IN ('planned', 'queued', 'starting', 'running') "
            "AND origin IN ('group', 'worker') GROUP BY status ORDER BY status"
        )
        return {row[0]: row[1] for row in rows}

    def holding_slots(self) -> int:
        """Runs that were asked for and wait, start or run. Stages to come hold none."""
        return self.count("status IN ('queued', 'starting', 'running') AND origin IN ('group', 'worker')")

    def live_session(self, task_id: str) -> Execution | None:
        """The running session of a task, as the unique index has it."""
        return self.one(
            "task_id = ? AND status IN ('planned', 'queued', 'starting', 'running') AND origin IN ('session', 'worker')",
            task_id,
        )

    def unused_sessions(self, before: datetime, unmade_before: datetime) -> list[Execution]:
        """Sessions that were asked for before then and whose command nobody has started, and workers for whom nobody is
        making a place any more."""
        return self.many(
            "WHERE status IN ('planned', 'queued') AND origin = 'session' AND queued_at < ? "
            "OR status = 'planned' AND origin = 'worker' AND queued_at < ? ORDER BY queued_at",
            (microseconds(before), microseconds(unmade_before)),
        )

    def anything_to_look_at(self, host_id: str) -> bool:
        """Whether any of the next three would find something: one question in place of three."""
        return bool(self._connection.execute(f"SELECT 1 WHERE {_ANYTHING}", (host_id,) * 3))

    def unverified(self, host_id: str, limit: int = 20) -> list[Execution]:
        """Runs that are over and whose traces nobody has looked at: those of one host, and those of no known host."""
        return self.many(f"WHERE {_UNVERIFIED} ORDER BY queued_at, id LIMIT ?", (host_id, limit))

    def in_worktrees(self, host_id: str) -> list[Execution]:
        """Runs of a host that are under way in a worktree."""
        return self.many(f"WHERE {_IN_WORKTREE} ORDER BY queued_at, id", (host_id,))

    def attended(self, host_id: str) -> list[Execution]:
        """Sessions under way that somebody has started in a shell of this host."""
        return self.many(f"WHERE {_ATTENDED} ORDER BY queued_at", (host_id,))

    def running_workers(self, project_id: str) -> list[Execution]:
        """Runs on tasks of a project that are under way."""
        return self.many(
            "WHERE status IN ('starting', 'running') AND origin IN ('worker', 'session') AND project_id = ? "
            "ORDER BY queued_at, id",
            (project_id,),
        )

    def latest_with_branch(self, task_id: str) -> Execution | None:
        """The newest run of a task that had a branch: what is to be merged."""
        found = self.many(
            "WHERE task_id = ? AND branch IS NOT NULL ORDER BY queued_at DESC, id DESC LIMIT 1", (task_id,)
        )
        return found[0] if found else None

    def of_session(self, session_id: str) -> list[Execution]:
        """The runs that an agent's session opened and that are not over."""
        return self.many(
            "WHERE session_id = ? AND status IN ('queued', 'starting', 'running') ORDER BY queued_at", (session_id,)
        )

    def live_on_task(self, task_id: str) -> bool:
        """Whether somebody is at work on it, or is going to be as soon as its place is made."""
        live = "status IN ('queued', 'starting', 'running') OR status = 'planned' AND origin = 'worker'"
        return bool(self.count(f"task_id = ? AND ({live})", task_id))

    def expired(self, now: datetime, limit: int = 100) -> list[Execution]:
        """Claims whose lease ran out, and whose host has not said for as long that it lives."""
        return self.many(
            "WHERE lease_until < ? AND NOT EXISTS (SELECT 1 FROM hosts WHERE hosts.id = executions.owner "
            "AND hosts.lease_until > ?) ORDER BY lease_until LIMIT ?",
            (microseconds(now), microseconds(now), limit),
        )

    def lost_of(self, host_id: str, limit: int = 1_000) -> list[Execution]:
        """Runs of a host that were given up while it was away, and of which it has not told more since."""
        return self.many(
            "WHERE host_id = ? AND status = 'lost' AND returned IS NULL ORDER BY queued_at DESC, id DESC LIMIT ?",
            (host_id, limit),
        )

    def overtaken(self, host_id: str) -> list[Execution]:
        """Of `lost_of`, those that a retry has followed."""
        return self.many(
            "WHERE host_id = ? AND status = 'lost' AND returned IS NULL AND EXISTS (SELECT 1 FROM executions AS later WHERE "
            "later.task_id = executions.task_id AND later.previous_id = executions.id AND later.attempt > 0) "
            "ORDER BY queued_at, id",
            (host_id,),
        )

    def running_in_group(self, group_id: str) -> int:
        return self.count("group_id = ? AND status IN ('planned', 'queued', 'starting', 'running')", group_id)

    def page(
        self,
        *,
        project_id: str | None = None,
        task_id: str | None = None,
        agent_id: str | None = None,
        group_id: str | None = None,
        statuses: Collection[ExecutionStatus] | None = None,
        numbered: bool = False,
        limit: int,
        cursor: str | None = None,
    ) -> Page[Execution]:
        """Newest first; `numbered` keeps those that are sessions of tasks."""
        where = Where().equal("project_id", project_id).equal("task_id", task_id).equal("agent_id", agent_id)
        where.equal("group_id", group_id)
        where.among("status", statuses)
        if numbered:
            where.condition("number IS NOT NULL")
        if cursor is not None:
            where.condition("(queued_at, id) < (?, ?)", *decode(cursor, int, str))
        return self._page(where, limit)

    def _page(self, where: Where, limit: int) -> Page[Execution]:
        found = self.many(f"{where.text} ORDER BY queued_at DESC, id DESC LIMIT ?", (*where.values, limit + 1))
        if len(found) <= limit:
            return Page(found)
        last = found[limit - 1]
        return Page(found[:limit], encode(microseconds(last.queued_at), last.id))
