"""What one caller sees of a hub: its own folder, its own permission, and a record of each of its calls."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kumihimo.hub.call import NOBODY, Asking, Call
from kumihimo.hub.errors import Code, HubError, unknown_server
from kumihimo.hub.hub import Hub
from kumihimo.hub.permission import EVERYTHING, Permission
from kumihimo.hub.relay import Done, Relay
from kumihimo.hub.results import Answer
from kumihimo.hub.route import Route
from kumihimo.hub.searching import search
from kumihimo.hub.statistics import Counts
from kumihimo.hub.tools import Table, Tool

# What a model pays for JSON, about: no tokenizer is the same for all of them.
_BYTES_PER_TOKEN = 3.6


History = Callable[[], Awaitable[Mapping[str, Counts]]]


class Called(Struct, frozen=True):
    """One call that was made: what of, how long it took, how much went and came, and how it ended."""

    server: str | None
    tool: str
    milliseconds: float
    attempts: int
    cached: bool
    sent_bytes: int
    received_bytes: int
    outcome: str


class Tried(Struct, frozen=True):
    """Whether a server could be connected to, and how many tools it has for the caller."""

    name: str
    milliseconds: float
    tools: int = 0
    error: str | None = None


class Desk:
    """`record` hears of every call when it has ended."""

    def __init__(
        self,
        hub: Hub,
        *,
        worktree: Path | None = None,
        caller: str | None = None,
        permission: Permission = EVERYTHING,
        record: Callable[[Called], None] | None = None,
        asking: Asking = NOBODY,
        history: History | None = None,
        away: str | None = None,
    ) -> None:
        self.hub = hub
        self._away = away
        self._history = history
        self._asking = asking
        self._worktree = worktree
        self._caller = caller
        self._permission = permission
        self._record = record
        # By the names that were called: who sits here is the same, and so is what they may use.
        self._routes: dict[str, Route] = {}

    def servers(self) -> list[Table]:
        return [server for server in self.hub.servers() if self._permission.knows(server["name"])]

    @property
    def problem(self) -> str | None:
        """What is wrong with the files that name the servers."""
        return self.hub.problem

    async def tools(self, server: str | None = None) -> list[Tool]:
        found = await self.hub.list_tools(server, worktree=self._worktree)
        return [tool for tool in found if self._permission.permits(tool.server, tool.short_name)]

    async def search(self, query: str | None, server: str | None, limit: int) -> list[Tool]:
        return search(await self.tools(server), query, limit)

    async def describe(self, name: str) -> Tool:
        """HubError where there is none, or it must not be used."""
        return await self.hub.find_tool(name, worktree=self._worktree, permission=self._permission)

    def asking(self, asking: Asking) -> Desk:
        """The same desk, at which somebody sits who can be asked."""
        if asking is NOBODY:
            return self
        return self._with(msgspec.structs.replace(asking, meta=self._asking.meta) if self._asking.meta else asking)

    def away(self, host: str) -> Desk:
        """The same desk, for a session that another host has begun: what servers remember of it is there."""
        return self._with(self._asking, host)

    def _with(self, asking: Asking, away: str | None = None) -> Desk:
        other = Desk(
            self.hub,
            worktree=self._worktree,
            caller=self._caller,
            permission=self._permission,
            record=self._record,
            asking=asking,
            history=self._history,
            away=away or self._away,
        )
        other._routes = self._routes
        return other

    def call(self, name: str, params: Any, timeout_ms: float | None = None) -> Awaitable[Answer]:
        """With data as the JSON that came."""
        return self.relay(self.new_call(name, params, timeout_ms))

    def new_call(self, name: str, params: Any, timeout_ms: float | None = None) -> Call:
        return Call(name, params, timeout_ms, self._caller, self._permission, self._asking, self._away)

    async def relay(self, call: Call) -> Answer:
        """The same; afterwards the call has all that the server answered."""
        answer = await self.hub.perform(call, worktree=self._worktree)
        if self._record is not None:
            self._record(_called(call, answer))
        return answer

    def relay_quickly(self, call: Call, done: Done) -> Relay | None:
        """The same on the short way: `done` hears the answer. None, with nothing sent, where that is not possible."""
        routes, name = self._routes, call.name
        known = routes.get(name)
        route = self.hub.route(name, self._permission, known, worktree=self._worktree)
        if route is None:
            return None
        if route is not known:
            routes[name] = route

        return self.hub.relay(call, route, partial(self._hear, call, done))

    def _hear(self, call: Call, done: Done, answer: Answer | Exception) -> None:
        if self._record is not None and not isinstance(answer, Exception):
            self._record(_called(call, answer))
        done(answer)

    async def batch(self, calls: Sequence[Any], max_parallel: int | None) -> list[Answer]:
        return await self.hub.perform_batch(calls, max_parallel, self.call)

    async def prompts(self, server: str | None = None) -> list[Table]:
        found = await self.hub.list_prompts(server, worktree=self._worktree)
        return [prompt for prompt in found if self._permission.knows(prompt["server"])]

    async def get_prompt(self, server: str, name: str, args: Mapping[str, Any] | None) -> Table:
        await self._require(server)
        return await self.hub.get_prompt(server, name, args, worktree=self._worktree)

    async def resources(self, server: str | None = None) -> list[Table]:
        found = await self.hub.list_resources(server, worktree=self._worktree)
        return [resource for resource in found if self._permission.knows(resource["server"])]

    async def read_resource(self, server: str, uri: str) -> list[Table]:
        await self._require(server)
        return await self.hub.read_resource(uri, server, worktree=self._worktree, caller=self._caller)

    async def stats(self) -> list[Table]:
        """Every server with what its tools cost a model that is shown them, and how it was used: as far as that is on record,
        else by this process."""
        tools = await self.tools()
        counts = await self._history() if self._history is not None else self.hub.counts()
        told: list[Table] = []
        for server in self.servers():
            name = server["name"]
            own = [tool for tool in tools if tool.server == name]
            used = (counts.get(name) or Counts()).told()
            tokens = sum(schema_tokens(tool) for tool in own)
            told.append({**server, "tools": len(own), "schemaTokens": tokens, **used})
        return told

    async def test(self, server: str | None = None) -> list[Tried]:
        """Connect to every server, or to one, at once, also to those that were given up for a while."""
        names = [it["name"] for it in self.servers()]
        if server is not None:
            if server not in names:
                raise unknown_server(server, names)
            names = [server]
        return list(await asyncio.gather(*(self._try(name) for name in names)))

    async def _try(self, name: str) -> Tried:
        began = time.monotonic()
        count, error = 0, None
        try:
            await self.hub.connect(name, worktree=self._worktree)
            count = len(await self.tools(name))
        except HubError as refused:
            error = f"{refused.code}: {refused.message}"
        return Tried(name, round((time.monotonic() - began) * 1000, 1), count, error)

    async def _require(self, server: str) -> None:
        if not self._permission.knows(server):
            raise HubError(
                Code.CANNOT_EXECUTE, f"The server '{server}' is not allowed for this agent.", {"server": server}
            )
        if self._away is not None:
            await self.hub.require_no_memory(server, self._away, worktree=self._worktree)


def _called(call: Call, answer: Answer) -> Called:
    return Called(
        server=call.server,
        tool=call.tool,
        milliseconds=answer.metadata.execution_time,
        attempts=call.attempts,
        cached=call.cached,
        sent_bytes=call.sent_bytes,
        received_bytes=0 if call.reply is None else len(memoryview(call.reply)),
        outcome="ok" if answer.error is None else answer.error.code,
    )


def schema_tokens(tool: Tool) -> int:
    """About how many tokens its definition takes in a list of tools."""
    return math.ceil(len(msgspec.json.encode(tool.definition)) / _BYTES_PER_TOKEN)
