"""The servers of a hub: which there are, and their instances, of which no more than so many have a session at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from kumihimo.domain.errors import ConfigError
from kumihimo.hub.configuration_file import Definition
from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.live import Live
from kumihimo.hub.timing import Timing
from kumihimo.hub.tools import Table
from kumihimo.hub.upstream import State, Upstream


class Registry:
    """A server that holds state for its folder has one instance per worktree, any other has one for all."""

    def __init__(
        self,
        environ: Mapping[str, str],
        root: Path,
        timing: Timing,
        most_connections: int,
        on_changed: Callable[[Upstream, Live | None, str], None],
        before_start: Callable[[], None] = lambda: None,
    ) -> None:
        self.root = root
        self._environ = environ
        self._timing = timing
        self._most_connections = most_connections
        self._on_changed = on_changed
        # Called before a server is started on this machine.
        self._before_start = before_start
        self._definitions: dict[str, Definition] = {}
        self._upstreams: dict[tuple[str, Path | None], Upstream] = {}
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @property
    def names(self) -> list[str]:
        return list(self._definitions)

    @property
    def upstreams(self) -> list[Upstream]:
        """Those that were needed so far."""
        return list(self._upstreams.values())

    def __contains__(self, name: str) -> bool:
        return name in self._definitions

    def add(self, definition: Definition) -> None:
        if definition.name in self._definitions:
            raise ConfigError(definition.where, "bad_setting", reason=f"Two servers are called '{definition.name}'")
        self._definitions[definition.name] = definition

    def keep(self, definition: Definition) -> None:
        """Its sessions go on: it only stands elsewhere in its file."""
        self._definitions[definition.name] = definition

    def take_out(self, name: str) -> list[Upstream]:
        """The next calls do not find it. Its instances, which are still to be closed."""
        del self._definitions[name]
        gone = [key for key in self._upstreams if key[0] == name]
        return [self._upstreams.pop(key) for key in gone]

    def definition(self, name: str) -> Definition:
        return self._definitions[name]

    def get(self, name: str, worktree: Path | None = None) -> Upstream:
        definition = self._definitions[name]
        place = worktree if definition.config.per_worktree else None
        found = self._upstreams.get((name, place))
        if found is None:
            folder = place or self.root
            try:
                config = definition.at(folder)
            except ConfigError as error:
                raise HubError(Code.CONNECTION_FAILED, str(error), {"server": name}, retryable=False) from error
            found = self._upstreams[name, place] = Upstream(
                config, folder, self._environ, self._timing, self._make_room, self._freed.set, self._on_changed
            )
        return found

    def states(self) -> list[Table]:
        """Every server and how it is; one that nobody has needed yet is idle."""
        found: list[Table] = []
        for name in self.names:
            config = self.definition(name).config
            instances = [upstream for upstream in self.upstreams if upstream.name == name]
            first = next(
                (upstream for upstream in instances if upstream.connected), instances[0] if instances else None
            )
            found.append(
                {
                    "name": name,
                    "transport": config.transport,
                    "state": first.state if first else State.IDLE,
                    "inFlight": sum(upstream.in_flight for upstream in instances),
                    "starts": sum(upstream.starts for upstream in instances),
                    "error": first.trouble if first else None,
                }
            )
        return found

    async def close(self) -> None:
        upstreams = list(self._upstreams.values())
        self._upstreams.clear()
        self._definitions.clear()
        await asyncio.gather(*(upstream.close() for upstream in upstreams))

    def _crowded(self) -> bool:
        if len(self._upstreams) < self._most_connections:
            return False
        return sum(upstream.has_room for upstream in self._upstreams.values()) >= self._most_connections

    async def _make_room(self, newcomer: Upstream) -> None:
        """Wait until there may be one more session: the one not used for longest makes room, if nobody uses it."""
        # One at a time decides, or two would take the same room.
        async with self._turn:
            while self._crowded():
                self._freed.clear()
                idle = [upstream for upstream in self._upstreams.values() if upstream.idle]
                if idle:
                    await min(idle, key=lambda upstream: upstream.last_used).disconnect()
                else:
                    await self._freed.wait()
            newcomer.has_room = True
            if newcomer.config.transport == "stdio":
                self._watch_over(newcomer)

    def _watch_over(self, newcomer: Upstream) -> None:
        try:
            self._before_start()
        except OSError as error:
            reason = f"{newcomer.name}: no process can be started: {error.strerror or error}"
            raise HubError(Code.CONNECTION_FAILED, reason, {"server": newcomer.name}) from error
