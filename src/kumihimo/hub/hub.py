"""Every other MCP server through one door: `async with Hub.from_file("mcp.config.yaml") as hub`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from kumihimo.hub import batches, configuration_file
from kumihimo.hub.caching import Cache
from kumihimo.hub.call import NOBODY, Asking, Call, written
from kumihimo.hub.calls import Calls
from kumihimo.hub.configuration import Options
from kumihimo.hub.configuration_file import Configuration
from kumihimo.hub.errors import Code, HubClosed, HubElsewhere, HubError, unknown_server
from kumihimo.hub.guardian import VARIABLE, Guardian
from kumihimo.hub.lists import Lists
from kumihimo.hub.live import Live
from kumihimo.hub.local import CancelledItself
from kumihimo.hub.offers import Offers, texts_of
from kumihimo.hub.permission import EVERYTHING, Permission
from kumihimo.hub.registry import Registry
from kumihimo.hub.relay import Done, Relay
from kumihimo.hub.results import Answer, Metadata, failed
from kumihimo.hub.route import Route
from kumihimo.hub.serena import Serena, serena_among
from kumihimo.hub.settling import PROGRAM, Settling
from kumihimo.hub.statistics import Counts
from kumihimo.hub.timing import Timing
from kumihimo.hub.tools import CanExecute, Table, Tool
from kumihimo.hub.upstream import Upstream, require_no_memory


class Hub:
    """Servers are started when they are first needed, and end with the hub.

    A tool is named `server:tool`, or by its own name where only one server has it. `worktree` is the folder of whoever
    calls, for servers that have an instance per worktree; `caller` keeps apart what a server answers to one and not to
    another. Tools are answered as `Answer`; every other method raises HubError. A closed hub raises HubClosed.
    """

    def __init__(
        self,
        servers: Sequence[Mapping[str, Any]] = (),
        options: Mapping[str, Any] | None = None,
        *,
        root: Path | str | None = None,
        environ: Mapping[str, str] | None = None,
        configuration: Configuration | None = None,
        timing: Timing | None = None,
        settling: Settling = PROGRAM,
    ) -> None:
        """ConfigError names the place of a mistake. `root` is the project's folder, here unless it is said."""
        self._guardian = Guardian()
        self._environ = {**(os.environ if environ is None else environ), VARIABLE: self._guardian.mark}
        self.root = Path(root or ".").absolute()
        if configuration is None:
            listed = [_plain(server) for server in servers] if isinstance(servers, list | tuple) else servers
            value = {"servers": listed, "options": options}
            configuration = configuration_file.from_value(
                value, self._environ, self.root, configuration_file.place_in_values
            )
        self.options: Options = configuration.options
        self._timing = timing or Timing()
        self._cache = Cache(self._timing.now)
        self._registry = Registry(
            self._environ, self.root, self._timing, self.options.max_connections, self._changed, self._guardian.start
        )  # fmt: skip
        self._lists = Lists(self._registry, self._timing, settling)
        self._lists.on_late = self._tell_changed
        self._calls = Calls(self._registry, self._lists, self._cache, self._timing, self.options.timeout)
        self._offers = Offers(self._registry, self._lists, self._cache, self._timing)
        self._closed = False
        # Its sessions live on the loop where it was first used, and end with that.
        self._loop: asyncio.AbstractEventLoop | None = None
        # What is wrong with the files of its servers since they were read, for who looks after those.
        self.problem: str | None = None
        self._ending: set[asyncio.Task[None]] = set()
        # Hears that what the servers offer has changed.
        self.on_changed: Callable[[], None] | None = None
        for definition in configuration.servers:
            self._registry.add(definition)

    @classmethod
    def from_file(
        cls, file: Path | str, *, root: Path | str | None = None, environ: Mapping[str, str] | None = None
    ) -> Self:
        """Both forms, YAML and JSON. The project is where the file is, unless it is said."""
        path = Path(file).absolute()
        folder = Path(root or path.parent).absolute()
        known = dict(os.environ if environ is None else environ)
        return cls(root=folder, environ=known, configuration=configuration_file.from_file(path, known, folder))

    async def __aenter__(self) -> Self:
        self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End every session, and every server that was started. Calls under way are answered as failed."""
        self._closed = True
        if self._loop not in (None, asyncio.get_running_loop()):
            # Nobody there hears anything any more: whatever was started is found by its mark.
            await self._guardian.close()
            return
        try:
            await asyncio.gather(self._registry.close(), self._lists.close(), *self._ending)
        finally:
            # Also where nobody waits any more: then what is left ends at once.
            await self._guardian.close()

    # Servers

    async def register_server(self, config: Mapping[str, Any]) -> None:
        """Add a server and connect to it. ConfigError for a mistake, HubError where it can't be reached; it stays
        registered then, and the next call tries again."""
        self._open()
        definition = configuration_file.define(
            _plain(config), self.options, self._environ, self.root, where=configuration_file.place_in_values
        )
        self._registry.add(definition)
        await self._registry.get(definition.name).connect()

    async def reconfigure(self, configuration: Configuration) -> None:
        """Have these servers from now on. Those that are as they were keep their sessions."""
        self._open()
        self.options = configuration.options
        self._calls.timeout_ms = self.options.timeout
        wanted = {definition.name: definition for definition in configuration.servers}
        gone: list[Upstream] = []
        for name in self._registry.names:
            if name in wanted and wanted[name].means_the_same(self._registry.definition(name)):
                self._registry.keep(wanted.pop(name))
            else:
                gone += self._take_out(name)
        for definition in wanted.values():
            self._registry.add(definition)
        self._tell_changed()
        for upstream in gone:
            self._end(upstream)

    def _take_out(self, name: str) -> list[Upstream]:
        """The next calls do not find it, nor anything that it has answered. Its instances, which are still to be closed."""
        gone = self._registry.take_out(name)
        for upstream in gone:
            self._cache.clear(upstream.key)
        return gone

    def _end(self, upstream: Upstream) -> None:
        """Beside everything else: one that is slow to end must not keep anybody waiting."""
        ending = asyncio.create_task(upstream.close())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def remove_server(self, name: str) -> None:
        """Calls to it that are under way fail."""
        self._open()
        self._known(name)
        await asyncio.gather(*(upstream.close() for upstream in self._take_out(name)))

    async def connect(self, name: str, *, worktree: Path | None = None) -> None:
        """Connect now, also to a server that was given up for a while."""
        self._open()
        self._known(name)
        await self._registry.get(name, worktree).connect()

    async def disconnect(self, name: str, *, worktree: Path | None = None) -> None:
        """End its session; the next call opens another."""
        self._open()
        self._known(name)
        await self._registry.get(name, worktree).disconnect()

    def is_connected(self, name: str) -> bool:
        """Whether it has a session now; nobody has in a hub that is closed."""
        return any(upstream.name == name and upstream.connected for upstream in self._registry.upstreams)

    async def require_no_memory(self, name: str, away: str, *, worktree: Path | None = None) -> None:
        """HubError where a server may remember a session that was begun on another host."""
        self._known(name)
        upstream = self._registry.get(name, worktree)
        async with upstream.session(upstream.config.timeout / 1000) as live:
            require_no_memory(live, name, away)

    def servers(self) -> list[Table]:
        """Every server with its state; one that nobody has needed yet is idle."""
        self._open()
        return self._registry.states()

    # Tools

    def register_tool(self, tool: Any, can_execute: CanExecute | None = None) -> None:
        """A tool of the program itself, a table or an object with a name and `execute`; or, with the name of a server's
        tool or the Tool itself, what is asked with its arguments before each call."""
        self._open()
        self._calls.register(tool, can_execute)

    async def list_tools(self, server: str | None = None, *, worktree: Path | None = None) -> list[Tool]:
        """The tools that may be called. A server that can't be asked within its timeout has none, unless it alone was
        asked for; `servers` tells which and why."""
        self._open()
        return await self._calls.listed(server, worktree)

    async def get_tool(self, name: str, *, worktree: Path | None = None) -> Tool | None:
        """None where there is none. HubError where that can't be known, or the name means several."""
        self._open()
        try:
            return await self._calls.find(name, worktree)
        except HubError as error:
            if error.code is Code.TOOL_NOT_FOUND:
                return None
            raise

    async def can_execute(self, name: str, params: Any = None, *, worktree: Path | None = None) -> bool:
        """Whether a call would be sent: the tool is there and allowed, and its arguments fit."""
        self._open()
        try:
            await self._calls.check(name, params, worktree)
        except HubError:
            return False
        return True

    async def find_tool(self, name: str, *, worktree: Path | None = None, permission: Permission = EVERYTHING) -> Tool:
        """HubError where there is none, or it must not be called."""
        self._open()
        return await self._calls.find(name, worktree, permission)

    async def execute_tool(
        self,
        name: str,
        params: Any = None,
        *,
        timeout_ms: float | None = None,
        worktree: Path | None = None,
        caller: str | None = None,
        asking: Asking = NOBODY,
    ) -> Answer:
        """`timeout_ms` is for each try. The arguments are looked at as the JSON that is sent."""
        self._open()
        try:
            call = written(name, params, timeout_ms, caller, asking)
        except HubError as mistake:
            return failed(mistake, Metadata(0.0, None, 0, False))
        try:
            return (await self.perform(call, worktree=worktree)).decoded()
        except CancelledItself as broke:
            return failed(HubError(Code.EXECUTION_FAILED, str(broke)), Metadata(0.0, call.server, 1, False))

    def perform(self, call: Call, *, worktree: Path | None = None) -> Awaitable[Answer]:
        """The same, with data of a server as the JSON that it sent: for whoever sends it on."""
        if self._closed:
            raise HubClosed
        return self._calls.execute(call, worktree)

    def route(
        self, name: str, permission: Permission, known: Route | None = None, *, worktree: Path | None = None
    ) -> Route | None:
        """The short way to a tool, where it is open; `known` is how it was before."""
        return None if self._closed else self._calls.route(name, worktree, permission, known)

    def relay(self, call: Call, route: Route, done: Done) -> Relay | None:
        """As `perform`, on the short way: `done` hears the answer. None, with nothing sent, where that is not possible."""
        return self._calls.relay(call, route, done)

    async def execute_parallel(
        self,
        calls: Sequence[Mapping[str, Any]],
        *,
        max_parallel: int | None = None,
        worktree: Path | None = None,
        caller: str | None = None,
    ) -> list[Answer]:
        """Each is `{"tool": ..., "params": ...}`. One answer for each, in order, whatever becomes of the others."""

        async def one(tool: str, params: Any, timeout_ms: float | None) -> Answer:
            try:
                call = written(tool, params, timeout_ms, caller, NOBODY)
            except HubError as mistake:
                return failed(mistake, Metadata(0.0, None, 0, False))
            return (await self.perform(call, worktree=worktree)).decoded()

        return await self.perform_batch(calls, max_parallel, one)

    async def perform_batch(
        self,
        calls: Sequence[Any],
        max_parallel: int | None,
        execute: Callable[[str, Any, float | None], Awaitable[Answer]],
    ) -> list[Answer]:
        """A batch whose calls are carried out in this way."""
        self._open()
        batches.require(calls, max_parallel)

        async def one(call: Any) -> Answer:
            if not isinstance(call, Mapping) or not isinstance(call.get("tool"), str):  # pyright: ignore[reportUnknownMemberType]
                mistake = HubError(Code.INVALID_REQUEST, "A call of a batch is {tool, params}.")
                return failed(mistake, Metadata(0.0, None, 0, False))
            given = cast("Mapping[str, Any]", call)
            return await execute(given["tool"], given.get("params"), given.get("timeout_ms"))

        most = self.options.max_parallel if max_parallel is None else max_parallel
        return await batches.perform(calls, most, one)

    @property
    def serena(self) -> Serena | None:
        """Its methods, where one of the servers is Serena."""
        self._open()
        name = serena_among(self._registry)
        if name is None:
            return None
        per_worktree = self._registry.definition(name).config.per_worktree
        return Serena(self, name, lambda worktree: (worktree if per_worktree else None) or self.root)

    # Prompts and resources

    async def list_prompts(self, server: str | None = None, *, worktree: Path | None = None) -> list[Table]:
        self._open()
        return await self._offers.listed("prompts", server, worktree)

    async def get_prompt(
        self, server: str, name: str, args: Mapping[str, Any] | None = None, *, worktree: Path | None = None
    ) -> Table:
        """A prompt with its messages, as the server gives it."""
        self._open()
        return await self._offers.get_prompt(server, name, args, worktree)

    async def execute_prompt(
        self, name: str, args: Mapping[str, Any] | None = None, *, worktree: Path | None = None
    ) -> str:
        """The texts of a prompt, `server:prompt` or by its own name where one server has it."""
        self._open()
        server, prompt = await self._offers.owner_of_prompt(name, worktree)
        found = await self._offers.get_prompt(server, prompt, args, worktree)
        return texts_of(found)

    async def list_resources(self, server: str | None = None, *, worktree: Path | None = None) -> list[Table]:
        self._open()
        return await self._offers.listed("resources", server, worktree)

    async def read_resource(
        self, uri: str, server: str | None = None, *, worktree: Path | None = None, caller: str | None = None
    ) -> list[Table]:
        """The contents of a resource; which server has it is looked for where it is not said."""
        self._open()
        owner = server or await self._offers.owner_of_resource(uri, worktree)
        return await self._offers.read_resource(owner, uri, worktree, caller)

    def counts(self) -> Mapping[str, Counts]:
        """The same, for whoever adds it up."""
        return self._calls.counts

    def _open(self) -> None:
        if self._closed:
            raise HubClosed
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # Some of it may be asked where there is none.
            return
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise HubElsewhere

    def _known(self, name: str) -> None:
        if name not in self._registry:
            raise unknown_server(name, self._registry.names)

    def _changed(self, upstream: Upstream, live: Live | None, method: str) -> None:
        """What a server says unasked: where it is about its lists, what was kept of it is old."""
        if live is not None and self._lists.forget(live, method):
            self._cache.clear(upstream.key)
            self._tell_changed()

    def _tell_changed(self) -> None:
        if self.on_changed is not None:
            self.on_changed()


def _plain(config: Any) -> Any:
    """Whatever is no table is told as a mistake where it is read."""
    return dict(cast("Mapping[str, Any]", config)) if isinstance(config, Mapping) else config
