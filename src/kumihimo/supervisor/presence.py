"""Presence: this host among those that share the board. It says that it lives, and gives up what others have left."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from kumihimo.domain.execution import Execution
from kumihimo.domain.host import Awaited, Having, Host
from kumihimo.engine.agents.health import found_clients
from kumihimo.services.board import Board
from kumihimo.services.hosts import LEASE
from kumihimo.services.tokens import owner_hash
from kumihimo.settings import Settings
from kumihimo.store.executions import Reach
from kumihimo.store.passing import passed
from kumihimo.supervisor.wake import CROWD

RENEW_SECONDS = 10.0
# Programs are seldom installed, and to look for all of them is most of what saying that we live costs.
_LOOK_SECONDS = 120.0
# Which projects there are changes seldom; one of many looks still less often.
_LIST_SECONDS, _CROWDED_LIST_SECONDS = 30.0, 120.0
# How often one of many looks how many there are, and what none of them can do.
_REACH_SECONDS = 120.0
# What it has is said again so often, whatever has happened to it on the board meanwhile.
_SAY_SECONDS = 600.0
# So many hosts look at once at what has come; more of them share so many looks a second.
_FEW = 8
_LOOKS_PER_SECOND = 80


class Presence:
    def __init__(self, settings: Settings, board: Board, host_id: str, name: str, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._board = board
        self._host_id = host_id
        self._name = name
        self._say = say
        self._in_touch_since = self._renewed_at = passed()
        self._clients: tuple[str, ...] = ()
        self._projects: dict[str, Path] = {}
        self._look_at = self._list_at = self._reach_at = self._say_at = 0.0
        self._told: Having | None = None
        self.answers = (host_id, name, *settings.host.labels)
        self.reach = Reach(self.answers)
        # What was there for us when we last said that we live.
        self.awaited = Awaited()
        self._company = 1

    def renew(self, *, draining: bool = False) -> None:
        """We are here, and have this: who asks for work to be done decides by it where."""
        if passed() - self._renewed_at > LEASE.total_seconds():
            # Asleep, or stopped: the others may have been as well.
            self.lost_touch()
        missing = self._tell(draining=draining)
        self._renewed_at = passed()
        if passed() >= self._reach_at or not self.crowded:
            asked, self.reach = self.reach, self._reach(missing)
            self._reach_at = passed() + _REACH_SECONDS
            if self.reach != asked:
                self.awaited = replace(self.awaited, work=True)
        self._give_up_the_gone()

    @property
    def crowded(self) -> bool:
        """Whether there are so many hosts that to be told of everything costs more than to look now and then."""
        return self._company > CROWD

    @property
    def alone(self) -> bool:
        """Whether no other host is there."""
        return self.reach.clients is None

    @property
    def hesitation(self) -> float:
        """How long to wait before looking at what waits. All hosts hear of it at once, and one or two are enough: the more
        there are, the more they spread out, so that all of them together look no more often than a few do."""
        return random.uniform(0.0, max(0, self._company - _FEW) / _LOOKS_PER_SECOND)  # noqa: S311 - no secret

    @property
    def pause(self) -> float:
        """How long until it is time to say again that we live: hosts that came up together do not stay together."""
        return random.uniform(0.9, 1.1) * RENEW_SECONDS  # noqa: S311 - no secret

    @property
    def looks_between(self) -> bool:
        """Whether, where nobody listens, it is worth it to look once more between two leases: so many that each looks with its
        lease alone look often enough together."""
        return self._company / RENEW_SECONDS < _LOOKS_PER_SECOND

    def drain(self) -> None:
        """Nothing new is begun here until somebody comes back; what runs goes on without us."""
        self._tell(draining=True)

    def lost_touch(self) -> None:
        """The store could not be used."""
        self._in_touch_since = passed()

    def takes(self, run: Execution, is_folder: Callable[[str], bool] = os.path.isdir) -> bool:
        """Whether a run within our reach is ours to take: its folder is here, or somebody has to say that it can't be had."""
        if run.client in self._clients and is_folder(run.working_directory or "."):
            return True
        # Somebody who has it may have come just now.
        return run.id in self.reach.also or (self.alone and not self._others())

    def _tell(self, *, draining: bool) -> tuple[str, ...]:
        """Answers the projects that are not here."""
        if passed() >= self._look_at:
            self._clients = found_clients(self._settings)
            self._look_at = passed() + _LOOK_SECONDS
        if passed() >= self._list_at:
            self._projects = {it.id: Path(it.working_directory) for it in self._board.projects.list()}
            self._list_at = passed() + (_CROWDED_LIST_SECONDS if self.crowded else _LIST_SECONDS)
        projects = {identifier: folder.is_dir() for identifier, folder in self._projects.items()}
        having = Having(
            labels=self._settings.host.labels,
            clients=self._clients,
            draining=draining,
            memory=_memory(),
            projects=tuple(project for project, here in projects.items() if here),
            url=self._settings.host.url,
            token_hash=owner_hash(self._settings.token_file),
        )
        # Most of the time nothing has changed, and to say all of it costs a database that many share several times as much.
        awaited = self._extend() if having == self._told and passed() < self._say_at else None
        if awaited is None:
            self._board.hosts.renew(self._host_id, self._name, self._settings.max_concurrent, **having)
            self._told, self._say_at = having, passed() + _SAY_SECONDS
            awaited = self._extend()
        self.awaited = awaited or Awaited()
        return tuple(project for project, here in projects.items() if not here)

    def _extend(self) -> Awaited | None:
        return self._board.hosts.extend(self._host_id, self.reach)

    def _reach(self, missing: tuple[str, ...]) -> Reach:
        """What we may claim. Alone, everything: somebody has to say what can't be had."""
        self._company = self._board.hosts.count_alive()
        if self._company < 2:
            return Reach(self.answers)
        ours = Reach(self.answers, self._clients, missing)
        # As long as a lease lasts, somebody may be about to say that it has what is wanted.
        waiting = self._board.executions.waiting_since(LEASE, ours)
        others = self._others() if waiting else []
        stranded = tuple(run.id for run in waiting if not any(host.suits(run) for host in others))
        return replace(ours, also=stranded)

    def _others(self) -> list[Host]:
        return [host for host in self._board.hosts.alive() if host.id != self._host_id]

    def _give_up_the_gone(self) -> None:
        """What hosts that are gone have left: nobody knows what came of it. Whoever was cut off from the store itself, as
        everybody may have been, gives the others as long to come back as a lease lasts."""
        # Of many it is enough that a few look each time.
        if passed() - self._in_touch_since > LEASE.total_seconds() and random.random() * self._company < CROWD:  # noqa: S311
            for run in self._board.executions.lose_expired(lambda run: run.owner == self._host_id):
                self._say(f"{run.id} is lost: its host {run.host_id} is gone")


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
