"""Everybody in the host process who follows the log: those who tell people, and those who trace."""

from __future__ import annotations

from kumihimo.settings import Settings
from kumihimo.surfaces.host.follower import Follower
from kumihimo.surfaces.host.journal import Journal


class Followers:
    """What the settings do not ask for is not loaded."""

    def __init__(self, settings: Settings, url: str, host_id: str, journal: Journal) -> None:
        from kumihimo.surfaces.host.notifier import notifiers

        self._all: list[Follower] = notifiers(settings, url, journal)
        if settings.telemetry.traces:
            from kumihimo.surfaces.telemetry.tracing import tracers

            self._all += tracers(settings, host_id, journal)

    def start(self) -> None:
        for follower in self._all:
            follower.start()

    def close(self) -> None:
        for follower in self._all:
            follower.end()
        for follower in self._all:
            follower.close()
