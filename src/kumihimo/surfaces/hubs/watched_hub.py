"""A hub that has the servers of its files, as they are now."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kumihimo.domain.errors import ConfigError
from kumihimo.hub.configuration_file import load
from kumihimo.hub.hub import Hub
from kumihimo.settings import HUB_FILES, Settings

# A running hub sees a change within five seconds; a look costs a few microseconds.
LOOK_SECONDS = 1.0
Stamp = tuple[tuple[int, int, int] | None, ...]


def candidates(folder: Path, user: Path, named: Path | None) -> list[Path]:
    """The files that would be read if they were there, the first ones first."""
    return [named] if named else [place / name for place in (folder, user) for name in HUB_FILES]


def read_files(files: Sequence[Path], named: bool, folder: Path, environ: Mapping[str, str]) -> Hub:
    """ConfigError with file and line where there is a mistake. A file that was named must be there."""
    there = [file for file in files if named or file.is_file()]
    return Hub(root=folder, environ=environ, configuration=load(there, environ, folder))


def check(folder: Path, settings: Settings) -> None:
    """ConfigError where the servers of a project are not well configured."""
    files = candidates(folder, settings.config_folder, settings.hub_config)
    read_files(files, settings.hub_config is not None, folder, os.environ)


class WatchedHub:
    def __init__(self, folder: Path, user: Path, named: Path | None) -> None:
        self.folder = folder
        self._files = candidates(folder, user, named)
        self._named = named is not None
        self._environ = dict(os.environ)
        self._stamp = self._look()
        self.hub = read_files(self._files, self._named, folder, self._environ)
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
        there = [file for file in self._files if self._named or file.is_file()]
        try:
            configuration = load(there, self._environ, self.folder)
        except ConfigError as error:
            sys.stderr.write(f"the servers behind the hub stay as they were: {error}\n")
            return
        await self.hub.reconfigure(configuration)

    def _look(self) -> Stamp:
        return tuple(_stamp(file) for file in self._files)


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - on the way of every call
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
