"""Groups: runs that belong together, asked for at once or stage by stage. A request is taken whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from kumihimo.domain import text
from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import (
    EmptyAgents,
    EmptyStages,
    EmptyStageTasks,
    GroupHasRunningAgents,
    GroupNotActive,
    GroupNotFound,
    InvalidValue,
    MaxConcurrentReached,
    ModeMismatch,
    NotResumable,
    PlanFailed,
    RoleNotFound,
    RoleUnavailable,
)
from kumihimo.domain.event import Change
from kumihimo.domain.execution import Execution
from kumihimo.domain.group import PREFIX, Group, GroupMode, OnFailure, identify
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.executions import Executions
from kumihimo.services.executions import find as find_run
from kumihimo.services.hosts import pinned
from kumihimo.services.references import by_id, nearest
from kumihimo.services.service import Clock, Service, command, lookup, query
from kumihimo.services.wish import Wish
from kumihimo.store.store import Store, Transaction

# Longer than any run will be; a greater number is a mistake, and some databases could not hold it.
LONGEST_MS = 10_000_000_000


class Errand(msgspec.Struct, frozen=True):
    """One run that is asked for: who plays it, and what is to be done where."""

    role: str
    prompt: str
    working_directory: str
    timeout_ms: int | None = None
    # A worktree that was made for it, and the id that it was made for.
    id: str | None = None
    branch: str | None = None
    worktree: str | None = None
    base: str | None = None
    host: str | None = None


class Limits(msgspec.Struct, frozen=True):
    """How many runs there may be where no host has said how many it takes, and how agents are there where they run."""

    slots: int
    project_id: str | None = None
    defined: Callable[[Agent], Agent] = lambda agent: agent


class Plan(msgspec.Struct, frozen=True):
    """A group with its runs, stage by stage."""

    group: Group
    stages: list[list[Execution]]


def find(transaction: Transaction, reference: str) -> Group:
    found = by_id(transaction.groups, PREFIX, reference)
    if found is None:
        raise GroupNotFound(reference[:80])
    return found


def _where_again(transaction: Transaction, run: Execution) -> str | None:
    """A conversation is kept by the CLI, on the machine where it was had."""
    return run.host_id if run.host_id and transaction.hosts.get(run.host_id) else run.host


class Groups(Service):
    def __init__(self, store: Store, clock: Clock, identifiers: Identifiers, *, executions: Executions) -> None:
        super().__init__(store, clock, identifiers)
        self._executions = executions

    @command
    def create(
        self,
        transaction: Transaction,
        description: str,
        *,
        mode: GroupMode = "concurrent",
        project_id: str | None = None,
        host: str | None = None,
    ) -> Group:
        now = self.clock()
        host = pinned(transaction, host)
        description = text.long("description", description)
        while True:
            # Four digits may repeat within a second: another try, never two groups with one id.
            identifier = identify(now, self.identifiers.hexadecimal(4))
            group = Group(identifier, project_id, description, mode, "active", now, host=host)
            if transaction.groups.add(Change(group, "group.created", now)):
                return group

    @command
    def delete(self, transaction: Transaction, reference: str) -> Group:
        """Gone from view; its runs and their results stay. One that is deleted already is not found."""
        found = find(transaction, reference)
        group = transaction.groups.lock(found.id) or found
        if group.status == "deleted":
            raise GroupNotFound(group.id)
        running = transaction.executions.running_in_group(group.id)
        if running:
            raise GroupHasRunningAgents(group.id, running)
        change = group.delete(self.clock())
        transaction.groups.save(change)
        return change.value

    @command
    def run(
        self, transaction: Transaction, reference: str, errands: Sequence[Errand], limits: Limits
    ) -> list[Execution]:
        """Everything at once. Refused as a whole, with nothing written, where any part of it is."""
        group, team = self._runnable(transaction, reference, errands, limits)
        return self._enqueue(group, team, errands, limits)

    @query
    def require_runnable(
        self, transaction: Transaction, reference: str, errands: Sequence[Errand], limits: Limits
    ) -> None:
        """Refuse what `run` would refuse."""
        self._runnable(transaction, reference, errands, limits)

    def _runnable(
        self, transaction: Transaction, reference: str, errands: Sequence[Errand], limits: Limits
    ) -> tuple[Group, dict[str, Agent]]:
        if not errands:
            raise EmptyAgents
        group = self._open(transaction, reference, "concurrent")
        team = self._team(transaction, errands)
        self._require_slots(transaction, len(errands), limits)
        return group, team

    @command
    def plan(
        self,
        transaction: Transaction,
        reference: str,
        stages: Sequence[Sequence[Errand]],
        limits: Limits,
        *,
        on_failure: OnFailure = "continue",
    ) -> Plan:
        """Stage after stage: the first is queued, the others wait for the one before them."""
        group, team = self._plannable(transaction, reference, stages, limits)
        planned = group.plan(len(stages), on_failure, self.clock())
        transaction.groups.save(planned)
        runs = [self._enqueue(group, team, errands, limits, index) for index, errands in enumerate(stages)]
        return Plan(planned.value, runs)

    @query
    def require_plannable(
        self, transaction: Transaction, reference: str, stages: Sequence[Sequence[Errand]], limits: Limits
    ) -> None:
        """Refuse what `plan` would refuse."""
        self._plannable(transaction, reference, stages, limits)

    def _plannable(
        self, transaction: Transaction, reference: str, stages: Sequence[Sequence[Errand]], limits: Limits
    ) -> tuple[Group, dict[str, Agent]]:
        if not stages:
            raise EmptyStages
        for index, errands in enumerate(stages):
            if not errands:
                raise EmptyStageTasks(index)
        group = self._open(transaction, reference, "sequential")
        team = self._team(transaction, [errand for errands in stages for errand in errands])
        if group.stages is not None:
            raise PlanFailed("planned_already", group=group.id)
        self._require_slots(transaction, max(len(errands) for errands in stages), limits)
        return group, team

    @command
    def go_on(self, transaction: Transaction, reference: str, prompt: str, limits: Limits) -> Execution:
        """A run that resumes the conversation of another one, which has ended."""
        run, conversation = self._resumable(transaction, reference)
        return self._again(transaction, run, text.long("prompt", prompt), conversation, limits)

    @command
    def retry(self, transaction: Transaction, reference: str, limits: Limits) -> Execution:
        """The same wish once more, after it has ended."""
        run = self._over(transaction, reference)
        return self._again(transaction, run, run.prompt, None, limits)

    @query
    def require_resumable(self, transaction: Transaction, reference: str, limits: Limits) -> None:
        """Refuse what `go_on` would refuse."""
        self._resumable(transaction, reference)
        self._require_slots(transaction, 1, limits)

    @query
    def require_over(self, transaction: Transaction, reference: str, limits: Limits) -> None:
        """Refuse what `retry` would refuse."""
        self._over(transaction, reference)
        self._require_slots(transaction, 1, limits)

    def _resumable(self, transaction: Transaction, reference: str) -> tuple[Execution, str]:
        # Loaded when it is needed: every door starts with this module, and few ever go on with a run.
        from kumihimo.engine.agents import registry

        run = self._over(transaction, reference)
        if not registry.find(run.client).resumable:
            raise NotResumable(run.id, "client_cannot_resume", client=run.client)
        seen = transaction.observations.of(run.id)
        if seen is None or seen.conversation is None:
            raise NotResumable(run.id, "no_conversation")
        return run, seen.conversation

    def _over(self, transaction: Transaction, reference: str) -> Execution:
        run = find_run(transaction, reference)
        if run.live:
            raise NotResumable(run.id, "still_running")
        return run

    def _again(
        self, transaction: Transaction, run: Execution, prompt: str, conversation: str | None, limits: Limits
    ) -> Execution:
        agent = transaction.agents.get(run.agent_id)
        assert agent is not None, "agents are never removed"
        # The group before the slots, as everybody locks them.
        group = transaction.groups.lock(run.group_id) if run.group_id else None
        self._require_slots(transaction, 1, limits)
        wish = Wish(
            agent,
            "group",
            prompt,
            project_id=run.project_id,
            group_id=group.id if group and group.status == "active" else None,
            client=run.client,
            model=run.model,
            working_directory=run.working_directory,
            timeout_ms=run.timeout_ms,
            previous_id=run.id,
            conversation=conversation,
            host=_where_again(transaction, run) if conversation else run.host,
        )
        made = self._executions.enqueue(wish)
        assert made is not None, "only a task's own session can be there already"
        return made

    def _open(self, transaction: Transaction, reference: str, mode: GroupMode) -> Group:
        """The group, locked: nobody deletes it or gives it another plan meanwhile. Who only looks locks nothing."""
        found = find(transaction, reference)
        group = transaction.groups.lock(found.id) if self.store.writing else found
        if group is None or group.status != "active":
            raise GroupNotActive(reference[:80])
        if group.mode != mode:
            raise ModeMismatch(group.id, group.mode)
        return group

    def _team(self, transaction: Transaction, errands: Sequence[Errand]) -> dict[str, Agent]:
        """The agent behind each role. Every role is looked at before anything is written."""
        team: dict[str, Agent] = {}
        for errand in errands:
            found = team.get(errand.role) or transaction.agents.named(errand.role)
            if found is None or found.status != "active" or found.type != "ai":
                able = [
                    agent.name for agent in transaction.agents.all() if agent.status == "active" and agent.type == "ai"
                ]
                raise RoleNotFound(errand.role[:80], nearest(errand.role[:80], able))
            team[errand.role] = found
            if errand.timeout_ms is not None and not 0 < errand.timeout_ms <= LONGEST_MS:
                raise InvalidValue(
                    "timeout_ms", "not_a_choice", value=str(errand.timeout_ms)[:40], choices=f"1 – {LONGEST_MS}"
                )
        for host in {errand.host for errand in errands}:
            pinned(transaction, host)
        for role, agent in team.items():
            health = transaction.health_checks.of(agent.id)
            if not health.available:
                raise RoleUnavailable(role, health.reason or health.model_message)
        return team

    def _require_slots(self, transaction: Transaction, wanted: int, limits: Limits) -> None:
        if self.store.writing:
            transaction.meta.lock("admission")
        hosts, there = transaction.hosts.alive(self.clock())
        slots = there if hosts else limits.slots
        free = max(0, slots - transaction.executions.holding_slots())
        if wanted > free:
            raise MaxConcurrentReached(wanted, free, slots)

    def _enqueue(
        self, group: Group, team: dict[str, Agent], errands: Sequence[Errand], limits: Limits, stage: int | None = None
    ) -> list[Execution]:
        wishes = [
            Wish(
                limits.defined(team[errand.role]),
                "group",
                text.long("prompt", errand.prompt),
                project_id=limits.project_id,
                group_id=group.id,
                working_directory=errand.working_directory,
                timeout_ms=errand.timeout_ms,
                stage=stage,
                planned=bool(stage),
                id=errand.id,
                branch=errand.branch,
                worktree=errand.worktree,
                base=errand.base,
                host=errand.host or group.host,
            )
            for errand in errands
        ]
        runs = self._executions.enqueue_all(wishes)
        assert None not in runs, "only a task's own session can be there already"
        return [run for run in runs if run is not None]

    @lookup
    def show(self, transaction: Transaction, reference: str) -> Group:
        return find(transaction, reference)

    @query
    def list(self, transaction: Transaction) -> list[Group]:
        """Newest first, deleted ones included."""
        return transaction.groups.newest()
