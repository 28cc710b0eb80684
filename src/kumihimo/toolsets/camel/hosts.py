"""Hosts."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from kumihimo.services.hosts import HostView
from kumihimo.toolsets.camel.answer import Answer


class HostAnswer(Answer, frozen=True):
    id: str
    name: str
    state: str
    labels: list[str]
    clients: list[str]
    slots: int
    running: int
    lease_until: datetime
    memory: int
    projects: list[str]
    url: str | UnsetType = UNSET


class HostsAnswer(Answer, frozen=True):
    hosts: list[HostAnswer]


def host(view: HostView) -> HostAnswer:
    it = view.host
    return HostAnswer(
        id=it.id,
        name=it.name,
        state=view.state,
        labels=list(it.labels),
        clients=list(it.clients),
        slots=it.slots,
        running=view.running,
        lease_until=it.lease_until,
        memory=it.memory,
        projects=list(it.projects),
        url=it.shown_url or UNSET,
    )
