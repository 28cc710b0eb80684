"""A call on its way: from a name and arguments to the server that has the tool, and back."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from kumihimo.hub.attempt import Attempt
from kumihimo.hub.caching import Cache
from kumihimo.hub.call import Call
from kumihimo.hub.errors import Code, HubError, unknown_server
from kumihimo.hub.lists import Lists
from kumihimo.hub.live import Live
from kumihimo.hub.local import LocalTool, asked, carry_out, gate_of, local_tool
from kumihimo.hub.naming import Names, Reference, not_found
from kumihimo.hub.permission import EVERYTHING, Permission
from kumihimo.hub.registry import Registry
from kumihimo.hub.relay import Done, Relay
from kumihimo.hub.results import Answer, Metadata, failed, succeeded
from kumihimo.hub.retrying import Tries
from kumihimo.hub.route import Route
from kumihimo.hub.statistics import Counts
from kumihimo.hub.timing import Timing
from kumihimo.hub.tools import CanExecute, Tool
from kumihimo.hub.upstream import Upstream, require_no_memory
from kumihimo.wire.client.errors import ClientError, ConnectionFailed, TimedOut
from kumihimo.wire.errors import RpcError


class Calls:
    """`gates` are asked before a tool of their name is called; a bare name means it wherever it is."""

    def __init__(self, registry: Registry, lists: Lists, cache: Cache, timing: Timing, timeout_ms: float) -> None:
        # How long a tool of the program may take that was given no time.
        self.timeout_ms = timeout_ms
        self.gates: dict[str, CanExecute] = {}
        self.local: dict[str, LocalTool] = {}
        self.counts: defaultdict[str, Counts] = defaultdict(Counts)
        self._registry = registry
        self._lists = lists
        self._names = Names(registry, lists, self.local)
        self._cache = cache
        self._timing = timing

    def register(self, tool: Any, gate: CanExecute | None) -> None:
        """A tool of the program; or, by the name of a server's tool, what is asked before it is called."""
        if isinstance(tool, str | Tool):
            if gate is None:
                raise ValueError("for a tool of a server, say what is asked before it is called")
            self.gates[tool if isinstance(tool, str) else tool.name] = gate
            return
        made = local_tool(tool)
        gate = gate or gate_of(tool)
        self.local[made.short_name] = made
        if gate is not None:
            self.gates[made.name] = gate

    async def execute(self, call: Call, worktree: Path | None = None) -> Answer:
        """The answer, whatever happens; its data is JSON as it came."""
        began = self._timing.now()
        try:
            data = await self._execute(call, worktree)
        except HubError as told:
            return self._finish(call, began, None, told)
        return self._finish(call, began, data, None)

    def route(self, name: str, worktree: Path | None, permission: Permission, known: Route | None) -> Route | None:
        """The way that a call of this name takes, where it is open already: `known` if that is. None where the call has to go
        the long way, which is so for whatever would be refused."""
        now = self._timing.now()
        if known is not None and known.is_open(now):
            return known
        reference = self._names.at_once(name)
        if reference is None or self.gates or self._is_local(reference):
            return None
        try:
            upstream = self._permitted(reference, worktree, permission)
        except HubError:
            # Met again on the long way, and told there.
            return None
        live = upstream.live
        listed = None if live is None else live.lists.get("tools")
        tool = None if listed is None else listed.entries.get(reference.tool)
        if live is None or listed is None or tool is None:
            return None
        found = Route(reference, upstream, live, listed, tool)
        return found if found.is_open(now) else None

    def relay(self, call: Call, route: Route, done: Done) -> Relay | None:
        """As `execute`, on the short way: `done` hears the answer. None, with nothing sent, where it has to go the long way."""
        began = self._timing.now()
        upstream, tool = route.upstream, route.tool
        if self.gates or call.away is not None:
            return None
        try:
            tool.check(call.params)
            arguments = _encoded(call)
        except HubError:
            return None
        call.server, call.tool = route.reference
        call.checked = True
        call.sent_bytes = len(memoryview(arguments))
        seconds = self._seconds(call, upstream)
        attempt = Attempt(self._cache, call, upstream, route.live, tool)
        if tool.read_only and attempt.kept() is not None:
            return None

        go_on = partial(self._go_on, call, route, arguments, seconds, began)
        sent = Relay(call, upstream, attempt, partial(self._finish, call, began), go_on, done)
        return sent if sent.send(arguments, seconds) else None

    async def _go_on(
        self, call: Call, route: Route, arguments: Raw, seconds: float, began: float, error: HubError
    ) -> Answer:
        """A call on the short way whose first try has failed."""
        tries = self._tries(route.upstream, seconds)
        try:
            tries.learn(route.tool.repeatable)
            data = await self._perform(call, tries, route.upstream, route.reference, arguments, seconds, error)
        except HubError as told:
            return self._finish(call, began, None, told)
        return self._finish(call, began, data, None)

    def _finish(self, call: Call, began: float, data: Any, error: HubError | None) -> Answer:
        milliseconds = round((self._timing.now() - began) * 1000, 3)
        metadata = Metadata(milliseconds, call.server, call.attempts, call.cached)
        if call.server is not None:
            self.counts[call.server].count(metadata, error)
        return succeeded(data, metadata) if error is None else failed(error, metadata)

    async def find(self, name: str, worktree: Path | None = None, permission: Permission = EVERYTHING) -> Tool:
        """The tool that a name means. HubError where it means none, or it must not be called."""
        reference = await self._names.find(name, worktree, permission)
        if self._is_local(reference):
            return self.local[reference.tool]
        upstream = self._permitted(reference, worktree, permission)
        seconds = upstream.config.timeout / 1000
        async with upstream.session(seconds) as live:
            return await self._tool(upstream, live, reference, seconds)

    async def check(self, name: str, params: Any, worktree: Path | None = None) -> None:
        """All that is asked before a call is sent. HubError where it would not be."""
        call = Call(name, params)
        _encoded(call)
        await self._check(call, await self.find(name, worktree))

    async def listed(self, server: str | None = None, worktree: Path | None = None) -> list[Tool]:
        """The tools that may be called, of one server or of all that can be asked."""
        if server is None:
            found = await self._lists.everywhere("tools", worktree, self._lists.settling.listing)
        elif server not in self._registry:
            raise unknown_server(server, self._registry.names)
        else:
            found = {server: await self._lists.alone(self._registry.get(server, worktree), "tools")}
        tools: list[Tool] = [] if server else list(self.local.values())
        for name, listed in found.items():
            if not isinstance(listed, HubError):
                permits = self._registry.definition(name).config.permits
                tools.extend(tool for tool in listed.values() if permits(tool.short_name))
        return tools

    async def _execute(self, call: Call, worktree: Path | None) -> Any:
        reference = self._names.at_once(call.name) or await self._names.find(call.name, worktree, call.permission)
        call.server, call.tool = reference
        if self._is_local(reference):
            tool = self.local[reference.tool]
            _encoded(call)
            await self._check(call, tool)
            call.attempts = 1
            return await carry_out(tool, call.params, (call.timeout_ms or self.timeout_ms) / 1000)
        upstream = self._permitted(reference, worktree, call.permission)
        arguments = _encoded(call)
        call.sent_bytes = len(memoryview(arguments))
        seconds = self._seconds(call, upstream)
        return await self._perform(call, self._tries(upstream, seconds), upstream, reference, arguments, seconds)

    def _seconds(self, call: Call, upstream: Upstream) -> float:
        return (call.timeout_ms or upstream.config.timeout) / 1000

    def _tries(self, upstream: Upstream, seconds: float) -> Tries:
        return Tries(upstream.config.retry_policy, self._timing, patience_seconds=seconds)

    async def _perform(
        self,
        call: Call,
        tries: Tries,
        upstream: Upstream,
        reference: Reference,
        arguments: Raw,
        seconds: float,
        failed: HubError | None = None,
    ) -> Raw:
        """`failed` is what came of a first try that was made already."""
        try:
            return await tries.perform(lambda: self._try(call, tries, upstream, reference, arguments, seconds), failed)
        except HubError as error:
            tries.count -= error.untried
            raise
        finally:
            call.attempts = 0 if call.cached else tries.count

    def _is_local(self, reference: Reference) -> bool:
        return reference.server == LocalTool.SERVER and reference.tool in self.local

    async def _try(
        self, call: Call, tries: Tries, upstream: Upstream, reference: Reference, arguments: Raw, seconds: float
    ) -> Raw:
        deadline = self._timing.now() + seconds
        if upstream.quiet_until:
            await self._wait_for_quiet(upstream, seconds)
        for fresh in (False, True):
            was_open = upstream.connected
            live = upstream.take_at_once() or await upstream.take(seconds)
            try:
                tool = self._known_tool(upstream, live, reference) or await self._tool(
                    upstream, live, reference, deadline - self._timing.now()
                )
                tries.learn(tool.repeatable)
                if not call.checked:
                    tool.check(call.params)
                    if self.gates:
                        await self._ask_gate(call, tool)
                    call.checked = True
                if call.away is not None:
                    require_no_memory(live, upstream.name, call.away)
                return await self._send(call, upstream, live, tool, arguments, deadline - self._timing.now())
            except ConnectionFailed as error:
                told = upstream.judge(live, error)
                # The session had ended unnoticed, and nothing was sent: with another one it is the same try.
                if fresh or not was_open:
                    raise told from error
            finally:
                upstream.give_back(live)
        raise AssertionError("the second time returns or raises")

    async def _send(
        self, call: Call, upstream: Upstream, live: Live, tool: Tool, arguments: Raw, seconds: float
    ) -> Raw:
        """HubError where there is no answer or a bad one. ConnectionFailed where nothing could be sent."""
        attempt = Attempt(self._cache, call, upstream, live, tool)
        if (kept := attempt.kept()) is not None:
            return kept
        if seconds <= 0:
            raise HubError(Code.TIMEOUT, f"{upstream.name}: no time was left to send it", {"server": upstream.name})
        attempt.begin()
        try:
            raw = await self._ask(call, live, tool, arguments, seconds)
        except ConnectionFailed:
            raise
        except TimedOut as error:
            # Some of its time may have gone before it was sent.
            whole = TimedOut(self._seconds(call, upstream), delivered=error.delivered)
            raise upstream.judge(live, whole) from error
        except (ClientError, RpcError) as error:
            raise upstream.judge(live, error) from error
        finally:
            attempt.end()
        return attempt.received(raw)

    def _ask(self, call: Call, live: Live, tool: Tool, arguments: Raw, seconds: float) -> Awaitable[Raw]:
        asking, session = call.asking, live.session
        answers = not (asking.comes_again and session.revision.handshake)
        return session.call_tool_raw(
            tool.short_name,
            arguments,
            seconds=seconds,
            on_progress=asking.on_progress,
            meta=asking.meta,
            on_input=asking.on_input if answers else None,
            offers=asking.offers,
        )

    async def _wait_for_quiet(self, upstream: Upstream, seconds: float) -> None:
        wait = upstream.quiet_until - self._timing.now()
        if wait > seconds:
            raise HubError(
                Code.RATE_LIMIT_EXCEEDED,
                f"{upstream.name}: the server wants to be left alone for {wait:.0f} s",
                {"server": upstream.name, "retryAfterMs": round(wait * 1000)},
                retry_after_seconds=wait,
            )
        if wait > 0:
            await self._timing.sleep(wait)

    def _known_tool(self, upstream: Upstream, live: Live, reference: Reference) -> Tool | None:
        """A tool of a list that need not be asked for again."""
        tools = self._lists.known(upstream, live, "tools")
        return tools.get(reference.tool) if tools is not None else None

    async def _tool(self, upstream: Upstream, live: Live, reference: Reference, seconds: float) -> Tool:
        tools = self._lists.known(upstream, live, "tools")
        if tools is None:
            try:
                async with asyncio.timeout(seconds):
                    tools = await self._lists.of(upstream, live, "tools")
            except TimeoutError:
                raise HubError(
                    Code.TIMEOUT,
                    f"{upstream.name}: the list of its tools did not come within {max(seconds, 0):.3g} s; nothing was sent",
                    {"server": upstream.name},
                ) from None
        tool = tools.get(reference.tool)
        if tool is None:
            raise not_found(
                f"{reference.server}:{reference.tool}", [f"{reference.server}:{name}" for name in tools], []
            )
        return tool

    def _permitted(self, reference: Reference, worktree: Path | None, permission: Permission) -> Upstream:
        config = self._registry.definition(reference.server).config
        if not (config.permits(reference.tool) and (permission is EVERYTHING or permission.permits(*reference))):
            raise HubError(
                Code.CANNOT_EXECUTE,
                f"The tool '{reference.tool}' of '{reference.server}' is not allowed here, by its allow and deny lists.",
                {"server": reference.server, "tool": reference.tool},
            )
        return self._registry.get(reference.server, worktree)

    async def _check(self, call: Call, tool: Tool) -> None:
        """What can be known before it is sent. HubError where it must not be."""
        tool.check(call.params)
        await self._ask_gate(call, tool)

    async def _ask_gate(self, call: Call, tool: Tool) -> None:
        gate = self.gates.get(tool.name) or self.gates.get(tool.short_name)
        if gate is not None:
            answer, error = await asked(gate, call.params)
            if error is not None or not answer:
                because = f": {type(error).__name__}: {error}" if error is not None else ""
                raise HubError(
                    Code.CANNOT_EXECUTE,
                    f"{tool.name} can't be carried out with these arguments{because}.",
                    {"server": tool.server, "tool": tool.short_name},
                ) from error


def _encoded(call: Call) -> Raw:
    try:
        return Raw(msgspec.json.encode(call.params))
    except (TypeError, ValueError, RecursionError) as error:
        raise HubError(Code.INVALID_PARAMS, f"{call.name}: the arguments are no JSON: {error}") from error
