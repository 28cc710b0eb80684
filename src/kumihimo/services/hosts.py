"""Hosts: who runs agents, whether their programs are there, and which clients must wait."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Unpack

from msgspec import Struct

from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import InvalidValue
from kumihimo.domain.event import Change
from kumihimo.domain.execution import Execution
from kumihimo.domain.health import Health, HealthNews
from kumihimo.domain.host import Awaited, Having, Host, HostNews, HostState
from kumihimo.services.service import Service, command, lookup, query
from kumihimo.store.executions import EVERYTHING_FREE, Reach
from kumihimo.store.store import Transaction

LEASE = timedelta(seconds=30)


class HostView(Struct, frozen=True):
    """A host with how it is now."""

    host: Host
    state: HostState
    running: int


Views = list[HostView]


def pinned(transaction: Transaction, wanted: str | None) -> str | None:
    """What something is pinned to. InvalidValue where no host, not even one that is gone, is called or labelled so."""
    if wanted is None:
        return None
    known = transaction.hosts.all()
    if not any(host.answers_to(wanted) for host in known):
        words = dict.fromkeys(word for host in known for word in (host.name, *host.labels))
        raise InvalidValue("host", "no_such_host", value=wanted[:80], choices=", ".join(words) or "-")
    return wanted


class Hosts(Service):
    @command
    def renew(
        self,
        transaction: Transaction,
        host_id: str,
        name: str,
        slots: int,
        lease: timedelta = LEASE,
        **having: Unpack[Having],
    ) -> None:
        """The host lives, for as long as its lease says, and has what it says that it has."""
        transaction.hosts.renew(Host(host_id, name, slots, self.clock() + lease, **having))

    def extend(self, host_id: str, reach: Reach = EVERYTHING_FREE, lease: timedelta = LEASE) -> Awaited | None:
        """It lives on, and has what it said last; answers what waits for it. None where nothing is known of it: then it has to
        say again what it has."""
        now = self.clock()

        def write(transaction: Transaction, light: str) -> Awaited | None:
            awaited = transaction.executions.awaited_by(host_id, now, reach)
            return transaction.hosts.extend(host_id, now + lease, awaited, light)

        return self.store.write_lightly(write)

    @query
    def list(self, transaction: Transaction) -> Views:
        now, running = self.clock(), transaction.hosts.running()
        return [HostView(host, host.state(now), running.get(host.id, 0)) for host in transaction.hosts.all()]

    @command
    def tell_of_start(self, transaction: Transaction, news: HostNews) -> None:
        """For whoever watches: a host process has come up."""
        transaction.events.append(Change(news, "host.started", self.clock()))

    @command
    def tell_of_checks(self, transaction: Transaction, role: Agent | None, *, begin: bool = False) -> None:
        """For whoever watches: the program of an agent is being looked at, or was; with nobody named, all were."""
        news = HealthNews(role.id, role.name) if role else HealthNews("all")
        now = self.clock()
        transaction.events.append(news.begun(now) if begin else news.found(now) if role else news.over(now))

    @lookup
    def alive(self, transaction: Transaction) -> list[Host]:
        """Those that take work."""
        now = self.clock()
        return [host for host in transaction.hosts.all() if host.state(now) == "alive"]

    @lookup
    def count_alive(self, transaction: Transaction) -> int:
        return transaction.hosts.alive(self.clock())[0]

    @query
    def elsewhere(self, transaction: Transaction, host_id: str, wanted: str | None, project_id: str) -> Host | None:
        """Another host that is meant, and has the project; None where this one is meant, or there is no other."""
        now = self.clock()
        here = transaction.hosts.get(host_id)
        if wanted is not None and here is not None and here.answers_to(wanted):
            return None
        others = (it for it in transaction.hosts.all() if it.id != host_id and it.state(now) == "alive")
        return next((it for it in others if it.answers_to(wanted) and project_id in it.projects), None)

    @query
    def called(self, transaction: Transaction, host_id: str) -> str:
        """A host for people: its name, and where it is reached."""
        host = transaction.hosts.get(host_id)
        if host is None:
            return host_id
        return host.name if host.shown_url is None else f"{host.name} ({host.shown_url})"

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

    @lookup
    def parked(self, transaction: Transaction) -> dict[str, datetime]:
        return transaction.health_checks.parked(self.clock())
