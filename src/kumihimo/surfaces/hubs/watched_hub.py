"""A hub that has the servers of its files, as they are now."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from kumihimo.domain.errors import ConfigError
from kumihimo.hub.configuration_file import Configuration, load
from kumihimo.hub.hub import Hub
from kumihimo.hub.places import candidates, files_of
from kumihimo.hub.settling import Settling
from kumihimo.settings import Settings

# A running hub sees a change within five seconds; a look costs a few microseconds.
LOOK_SECONDS = 1.0
Stamp = tuple[tuple[int, int, int] | None, ...]


def check(folder: Path, settings: Settings) -> None:
    """ConfigError, with file and line, where the servers of a project are not well configured."""
    load(files_of(folder, settings), os.environ, folder)


class WatchedHub:
    def __init__(self, folder: Path, settings: Settings, settling: Settling) -> None:
        """ConfigError, with file and line, where its servers are not well configured."""
        self.folder = folder
        self._settings = settings
        self._environ = dict(os.environ)
        self._stamp = self._look()
        self.hub = Hub(root=folder, environ=self._environ, configuration=self._read(), settling=settling)
        self._looked_at = time.monotonic()
        self._changing = asyncio.Lock()

    @property
    def fresh(self) -> bool:
        """Whether its files were looked at just now."""
        return time.monotonic() - self._looked_at < LOOK_SECONDS

    async def current(self) -> Hub:
        """The hub with the servers that its files name now."""
        if self.fresh:
            return self.hub
        self._looked_at = time.monotonic()
        if self._look() != self._stamp:
            async with self._changing:
                await self._change()
        return self.hub

    async def _change(self) -> None:
        """What can't be read changes nothing: somebody may be in the middle of writing it."""
        stamp = self._look()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            configuration = self._read()
        except ConfigError as error:
            self.hub.problem = f"The servers behind the hub stay as they were: {error}"
            sys.stderr.write(self.hub.problem + "\n")
            return
        self.hub.problem = None
        await self.hub.reconfigure(configuration)

    def _read(self) -> Configuration:
        return load(files_of(self.folder, self._settings), self._environ, self.folder)

    def _look(self) -> Stamp:
        return tuple(_stamp(file) for file in candidates(self.folder, self._settings))


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - on the way of every call
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
