"""Hosts: who runs agents, whether their programs are there, and which clients must wait."""

from __future__ import annotations

from datetime import datetime, timedelta

from kumihimo.domain.agent import Agent
from kumihimo.domain.execution import Execution
from kumihimo.domain.health import Health
from kumihimo.domain.host import Host
from kumihimo.services.service import Service, command, lookup, query
from kumihimo.store.store import Transaction

LEASE = timedelta(seconds=30)


class Hosts(Service):
    @command
    def renew(self, transaction: Transaction, host_id: str, name: str, slots: int, lease: timedelta = LEASE) -> None:
        """The host lives, for as long as its lease says."""
        transaction.hosts.renew(Host(host_id, name, slots, self.clock() + lease))

    @query
    def alive(self, transaction: Transaction) -> list[Host]:
        now = self.clock()
        return [host for host in transaction.hosts.all() if host.lease_until > now]

    @query
    def owned(self, transaction: Transaction, host_id: str) -> list[Execution]:
        """What a host has claimed and not ended."""
        return transaction.executions.owned(host_id)

    @command
    def note_health(self, transaction: Transaction, health: Health) -> Health:
        transaction.health_checks.save(health)
        return health

    @query
    def health(self, transaction: Transaction) -> list[tuple[Agent, Health]]:
        """Every agent that can be given work, with what was last found out about its program."""
        found = transaction.health_checks.all()
        agents = [agent for agent in transaction.agents.all(limit=1_000) if agent.type == "ai"]
        return [(agent, found.get(agent.id) or Health(agent.id)) for agent in agents if agent.status == "active"]

    @lookup
    def any_missing(self, transaction: Transaction, names: set[str]) -> bool:
        """Whether the program of any of these agents was not there when it was last looked for."""
        return not names.isdisjoint(transaction.health_checks.missing())

    @command
    def park(self, transaction: Transaction, client: str, until: datetime, reason: str) -> None:
        """Nothing of this client starts before then."""
        transaction.health_checks.park(client, until, reason)

    @query
    def parked(self, transaction: Transaction) -> dict[str, datetime]:
        return transaction.health_checks.parked(self.clock())
