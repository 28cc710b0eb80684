"""Instances: when a Runner may start an agent, and what became of those it started.

A Runner is told yes or no and which CLI; it never learns of a task.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec

from kumihimo.domain import execution as executions
from kumihimo.domain import text
from kumihimo.domain.agent import Agent, Scope
from kumihimo.domain.errors import AgentBusy, AgentNotFound, ProjectNotFound
from kumihimo.domain.event import Change
from kumihimo.domain.identifiers import Identifiers
from kumihimo.domain.instance import STATES, Instance, InstanceState
from kumihimo.domain.project import Project
from kumihimo.domain.session import Session
from kumihimo.domain.task import Task
from kumihimo.domain.token import Token
from kumihimo.services.scopes import scope_of
from kumihimo.services.service import Clock, Service, command, query
from kumihimo.services.sessions import Sessions
from kumihimo.services.tasks import Tasks
from kumihimo.services.tokens import Tokens
from kumihimo.store.store import Store, Transaction

# A pair that was told to start has this long to log in before it is told again.
PATIENCE = timedelta(seconds=120)
# So long after it was last heard of an instance counts as running, though it has not logged in or has left already.
LEASE = PATIENCE
# So many in a row that end without a word, and the task waits for a person.
SILENT_LIMIT = 3
# As much of the last words of an instance as anybody reads.
_LONGEST_LAST_LINES = 4_000
# More of one pair than this were never there together: each waits for the one before it.
_MOST_AT_ONCE = 20


class Staffed(msgspec.Struct, frozen=True):
    """A project that work may go on in, and the agents that may do it."""

    project: Project
    agents: list[Agent]


class Pair(msgspec.Struct, frozen=True):
    agent_id: str
    project_id: str


class Verdict(msgspec.Struct, frozen=True):
    """Whether to start, and if so with which CLI."""

    start: bool
    client: str | None = None
    model: str | None = None


class Reported(msgspec.Struct, frozen=True):
    """What was noted of an instance; a new one gets a token that opens its own work."""

    instance: Instance
    token: str | None = None
    scope: Scope = Scope()
    """What it may write, where it is told to work in a worktree."""
    door: str | None = None
    """The path of its MCP endpoint on this server, where that is not the ordinary one."""


class Instances(Service):
    def __init__(
        self, store: Store, clock: Clock, identifiers: Identifiers, *, tasks: Tasks, sessions: Sessions, tokens: Tokens
    ) -> None:
        super().__init__(store, clock, identifiers)
        self._tasks = tasks
        self._sessions = sessions
        self._tokens = tokens

    @query
    def staffed_projects(self, transaction: Transaction) -> list[Staffed]:
        """Every active project with its active agents."""
        people = {agent.id: agent for agent in transaction.agents.all() if agent.status == "active"}
        return [
            Staffed(project, [people[agent] for agent in project.agent_ids if agent in people])
            for project in transaction.projects.all()
            if project.status == "active"
        ]

    @command
    def should_start(self, transaction: Transaction, agent_id: str, project_id: str) -> Verdict:
        """Yes to one asker at a time: who is told yes has two minutes to log in."""
        agent = self._startable(transaction, agent_id, project_id)
        if agent is None:
            return Verdict(False)
        now = self.clock()
        told = transaction.instances.order(agent_id, project_id, now, now - PATIENCE)
        return Verdict(True, agent.client, agent.model) if told else Verdict(False)

    @query
    def startable_pairs(self, transaction: Transaction) -> list[Pair]:
        """Every pair that `should_start` would say yes to now."""
        since = self.clock() - PATIENCE
        return [
            Pair(agent_id, project_id)
            for agent_id, project_id in transaction.tasks.pairs_in_progress()
            if not transaction.instances.ordered_since(agent_id, project_id, since)
            and self._startable(transaction, agent_id, project_id)
        ]

    @query
    def working_directory(self, transaction: Transaction, instance_id: str) -> str | None:
        """Where an instance works, as far as it has said."""
        found = transaction.instances.get(instance_id)
        return found.working_directory if found else None

    @query
    def alive(self, transaction: Transaction, instance_id: str) -> bool:
        """Whether an instance is not known to have ended."""
        found = transaction.instances.get(instance_id)
        return found is not None and found.state != "exited"

    @command
    def report(
        self,
        transaction: Transaction,
        agent_id: str,
        project_id: str,
        instance_id: str,
        state: InstanceState,
        *,
        working_directory: str | None = None,
        exit_code: int | None = None,
        signal: str | None = None,
        last_lines: str | None = None,
    ) -> Reported:
        """What a Runner knows of a process it started."""
        instance_id = text.line("instance_id", instance_id, 200)
        working_directory = text.long_or_none("working_directory", working_directory)
        signal = None if signal is None else text.line("signal", signal, 40)
        last_lines = text.long_or_none("last_lines", last_lines)
        exit_code = None if exit_code is None else executions.exit_code(exit_code)
        if transaction.agents.get(agent_id) is None:
            raise AgentNotFound(agent_id[:80])
        if transaction.projects.get(project_id) is None:
            raise ProjectNotFound(project_id[:80])
        instance = transaction.instances.lock(instance_id)
        if instance is None and state == "starting":
            # Locked, so that of two that come at once one is first. It may be the same start, told twice.
            transaction.projects.lock(project_id)
            instance = transaction.instances.lock(instance_id)
            if instance is None:
                self._require_room(transaction, agent_id, project_id)
        if instance is None:
            instance = self._new(transaction, Pair(agent_id, project_id), instance_id, working_directory)
        if (instance.agent_id, instance.project_id) != (agent_id, project_id):
            raise AgentNotFound(agent_id[:80])
        if state == "starting":
            # Told twice it is still the same start; what has ended does not start again.
            STATES.next(instance_id, "starting" if instance.state == "alive" else instance.state, "starting")
            token = Token("instance", agent_id, project_id, instance_id=instance_id)
            return Reported(instance, self._tokens.issue(token), self._scope(transaction, instance))
        if state == "alive":
            return Reported(self._seen(transaction, instance, working_directory))
        return Reported(self._exited(transaction, instance, exit_code, signal, last_lines))

    def _require_room(self, transaction: Transaction, agent_id: str, project_id: str) -> None:
        """Who was told to start and comes too late finds that somebody else has."""
        if self._sessions.live(agent_id, project_id) is not None or self._runs(transaction, agent_id, project_id):
            raise AgentBusy

    def _runs(self, transaction: Transaction, agent_id: str, project_id: str) -> bool:
        """Whether an instance of the pair was heard of not long ago."""
        since = self.clock() - LEASE
        newest = transaction.instances.newest(agent_id, project_id, _MOST_AT_ONCE)
        return any(one.state != "exited" and one.seen_at > since for one in newest)

    def _new(self, transaction: Transaction, pair: Pair, instance_id: str, folder: str | None) -> Instance:
        now = self.clock()
        worktree, branch = self._workplace(transaction, pair, instance_id)
        instance = Instance(
            instance_id, pair.agent_id, pair.project_id, "starting", folder, None, None, now, now,
            worktree=worktree, branch=branch,
        )  # fmt: skip
        transaction.instances.add(Change(instance, "instance.started", now))
        return instance

    def _scope(self, transaction: Transaction, instance: Instance) -> Scope:
        agent = transaction.agents.get(instance.agent_id)
        task = next(iter(self._open_tasks(transaction, instance.agent_id, instance.project_id)), None)
        return scope_of(task, agent) if task is not None and agent is not None else Scope()

    def _workplace(self, transaction: Transaction, pair: Pair, instance_id: str) -> tuple[str | None, str | None]:
        """The worktree of the task that it will be given, and the branch that its work is on: who comes after another goes on
        where that one was. None where the project has no worktrees."""
        project = transaction.projects.get(pair.project_id)
        if project is None or not project.worktrees:
            return None, None
        task = next(iter(self._open_tasks(transaction, pair.agent_id, pair.project_id)), None)
        if task is None:
            return None, None
        name = f"task-{task.number}"
        before = transaction.executions.latest_with_branch(task.id)
        if before is not None and before.dod_result != "merged":
            return name, before.branch
        return name, f"{name}-{instance_id[-8:]}"

    def _seen(self, transaction: Transaction, instance: Instance, working_directory: str | None) -> Instance:
        change = instance.see(self.clock(), working_directory)
        transaction.instances.save(change)
        self._sessions.keep_alive(instance.agent_id, instance.project_id)
        return change.value

    def _exited(
        self,
        transaction: Transaction,
        instance: Instance,
        exit_code: int | None,
        signal: str | None,
        last_lines: str | None,
    ) -> Instance:
        """Its session is over with it. Told twice, the first stands."""
        if instance.state == "exited":
            return instance
        change = instance.exit(exit_code, signal, self.clock())
        transaction.instances.save(change)
        transaction.instances.settle_order(instance.agent_id, instance.project_id)
        transaction.tokens.revoke_of_instance(instance.id, self.clock())
        session = transaction.sessions.live(instance.agent_id, instance.project_id)
        if session is not None and self._began(transaction, instance, session):
            self._sessions.end(session.id, "process_died")
        if change.value.outcome == "silent":
            self._block_after_silence(transaction, change.value, last_lines)
        return change.value

    def _began(self, transaction: Transaction, instance: Instance, session: Session) -> bool:
        """Whether the session is of this instance: of all that were there when it began, the youngest. An older one, whose
        Runner was away, ends late and must not end the work of the one that took its place."""
        newest = transaction.instances.newest(instance.agent_id, instance.project_id, _MOST_AT_ONCE)
        there = next((other for other in newest if other.started_at <= session.started_at), None)
        return there is not None and there.id == instance.id

    def _block_after_silence(self, transaction: Transaction, instance: Instance, last_lines: str | None) -> None:
        newest = transaction.instances.newest(instance.agent_id, instance.project_id, SILENT_LIMIT)
        if len(newest) < SILENT_LIMIT or any(other.outcome != "silent" for other in newest):
            return
        ends = ", ".join(_end(other) for other in reversed(newest))
        reason = f"{SILENT_LIMIT} instances ended without a report: {ends}"
        if last_lines and last_lines.strip():
            reason += f"\n{last_lines.strip()[-_LONGEST_LAST_LINES:]}"
        for task in self._open_tasks(transaction, instance.agent_id, instance.project_id):
            self._tasks.move(task, "blocked", reason=reason)
        for other in newest:
            transaction.instances.save(other.judge("blamed", self.clock()))

    def _startable(self, transaction: Transaction, agent_id: str, project_id: str) -> Agent | None:
        """The agent, if it is there, free, and has something to do; a moment's guard is not looked at here."""
        agent = transaction.agents.get(agent_id)
        project = transaction.projects.get(project_id)
        if agent is None or project is None or agent.id not in project.agent_ids:
            return None
        if (agent.status, agent.type, project.status) != ("active", "ai", "active"):
            return None
        if self._sessions.live(agent_id, project_id) is not None:
            return None
        if self._runs(transaction, agent_id, project_id):
            return None
        return agent if self._open_tasks(transaction, agent_id, project_id) else None

    def _open_tasks(self, transaction: Transaction, agent_id: str, project_id: str) -> list[Task]:
        """What an agent is to do and nobody does: no live run, and no success that waits for its facts."""
        return [
            task
            for task in transaction.tasks.in_progress(agent_id, project_id)
            if task.claimed_by is None and not transaction.executions.live_on_task(task.id)
        ]


def _end(instance: Instance) -> str:
    if instance.signal is not None:
        return instance.signal
    return "an end that nobody saw" if instance.exit_code is None else f"exit code {instance.exit_code}"
