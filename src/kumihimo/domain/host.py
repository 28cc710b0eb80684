"""A host: a home on a machine, where runs happen. It lives while it renews its lease."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypedDict

from msgspec import Struct

from kumihimo.domain.execution import Execution

HostState = Literal["alive", "gone", "draining"]


class Having(TypedDict, total=False):
    """What a host says of itself."""

    labels: tuple[str, ...]
    clients: tuple[str, ...]
    draining: bool
    url: str | None
    memory: int
    projects: tuple[str, ...]
    token_hash: str | None


class Host(Struct, frozen=True):
    """`labels` are its owner's words for it, `clients` the agent CLIs that were found there, `projects` those whose folder is
    there, `memory` that of the machine in bytes, `url` where other doors reach it. One that is `draining` goes on with what it
    has and takes nothing more."""

    id: str
    name: str
    slots: int
    lease_until: datetime
    labels: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    draining: bool = False
    url: str | None = None
    memory: int = 0
    projects: tuple[str, ...] = ()
    token_hash: str | None = None
    """Of its owner's token: who owns one of the homes that share a board owns the board."""

    @property
    def shown_url(self) -> str | None:
        """Its address for people: which machine a 127.0.0.1 is of is for programs."""
        return None if self.url is None else self.url.partition("#")[0]

    def answers_to(self, wanted: str | None) -> bool:
        """Whether it is meant by what something is pinned to."""
        return wanted is None or wanted in (self.name, self.id, *self.labels)

    def suits(self, run: Execution) -> bool:
        """Whether it could do a run, as far as it has said: a folder outside of all projects may be there."""
        at_home = run.project_id is None or run.project_id in self.projects
        return self.answers_to(run.host) and run.client in self.clients and at_home

    def state(self, now: datetime) -> HostState:
        if self.lease_until <= now:
            return "gone"
        return "draining" if self.draining else "alive"


class Awaited(Struct, frozen=True):
    """What waits for a host: work that it may claim, places to be made there, and traces of runs to be looked at."""

    work: bool = False
    places: bool = False
    traces: bool = False


class HostNews(Struct, frozen=True):
    """That a host process has come up, and where."""

    id: str
    name: str
    url: str
    version: str
