"""What servers offer. A list is kept with the session that it was asked by: until the server says that it has changed; where
it would not say so, for the time that it has put on the list, or for a minute."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.faults import unreachable
from kumihimo.hub.live import Listed, Live
from kumihimo.hub.registry import Registry
from kumihimo.hub.settling import PROGRAM, Settling
from kumihimo.hub.settling import SECONDS as QUIET_SECONDS
from kumihimo.hub.timing import Timing
from kumihimo.hub.tools import Table, Tool
from kumihimo.hub.upstream import COOLING_SECONDS, LATE, Upstream
from kumihimo.wire.client.errors import ClientError
from kumihimo.wire.client.listing import Kind
from kumihimo.wire.errors import METHOD_NOT_FOUND, RpcError

_log = logging.getLogger(__name__)
SECONDS = 60.0
# A list that is good for no time at all would have to be asked for before every call.
LEAST_SECONDS = 1.0
# By what an entry of each list is known.
_KEYS: dict[Kind, str] = {"tools": "name", "prompts": "name", "resources": "uri", "templates": "uriTemplate"}
# By which capability a server says that it has any of these.
_CAPABILITY = {"prompts": "prompts", "resources": "resources", "templates": "resources"}
_CHANGED = {
    "notifications/tools/list_changed": ("tools",),
    "notifications/prompts/list_changed": ("prompts",),
    "notifications/resources/list_changed": ("resources", "templates"),
}
_Found = dict[str, Any] | HubError


class Lists:
    def __init__(self, registry: Registry, timing: Timing, settling: Settling = PROGRAM) -> None:
        self._registry = registry
        self._timing = timing
        self.settling = settling
        # Hears that the list of a server that was late is there now.
        self.on_late: Callable[[], None] = lambda: None
        self._asking: dict[tuple[Upstream, Kind], asyncio.Task[_Found]] = {}

    async def close(self) -> None:
        """Ask no more."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    @staticmethod
    def forget(live: Live, method: str) -> bool:
        """What a notification makes old. False where it says nothing about lists."""
        kinds = _CHANGED.get(method, ())
        for kind in kinds:
            live.lists.pop(kind, None)
            live.changes += 1
        return bool(kinds)

    def known(self, upstream: Upstream, live: Live, kind: Kind) -> dict[str, Any] | None:
        """A list that need not be asked for again; None where there is none."""
        listed = live.lists.get(kind)
        if listed is None:
            return None
        told = listed.heard and upstream.tells_changes(_CAPABILITY.get(kind, kind))
        good = told or self._timing.now() < listed.until
        return listed.entries if good else None

    async def of(self, upstream: Upstream, live: Live, kind: Kind) -> dict[str, Any]:
        """One list of one server. HubError where it can't be had; a call has not been sent then."""
        if (known := self.known(upstream, live, kind)) is not None:
            return known
        # Of many who need it at once one asks.
        async with live.listing[kind]:
            if (known := self.known(upstream, live, kind)) is not None:
                return known
            changes, heard = live.changes, live.hears
            entries, seconds = await self._ask(upstream, live, kind)
            # A list that changed while it was told is good for this once.
            if changes == live.changes:
                live.lists[kind] = Listed(entries, self._timing.now() + seconds, heard)
            return entries

    async def among(
        self, kind: Kind, worktree: Path | None, has: Callable[[dict[str, Any]], bool]
    ) -> dict[str, _Found]:
        """For who looks for something and does not know who has it: what every server has, as far as it can be known
        soon. Where nobody has it the late ones may yet."""
        found = await self.everywhere(kind, worktree, self.settling.naming)
        if self.settling.missing == self.settling.naming:
            return found
        if any(has(entries) for entries in found.values() if not isinstance(entries, HubError)):
            return found
        return await self.everywhere(kind, worktree, self.settling.missing, late_too=True)

    async def everywhere(
        self, kind: Kind, worktree: Path | None, seconds: float | None, late_too: bool = False
    ) -> dict[str, _Found]:
        """The list of every server, or why it has none. No server is waited for longer than this; one that is late is
        asked on."""
        found: dict[str, _Found] = {}
        asking: dict[asyncio.Task[_Found], Upstream] = {}
        for name in self._registry.names:
            try:
                upstream = self._registry.get(name, worktree)
            except HubError as error:
                found[name] = error
                continue
            known = self.known(upstream, upstream.live, kind) if upstream.live else None
            if known is not None:
                found[name] = known
            elif upstream.resting and not (late_too and upstream.late):
                found[name] = upstream.problem or _late(name)
            else:
                asking[self._in_the_background(upstream, kind)] = upstream
        if asking:
            late = await self._wait(asking, seconds)
            for task in late:
                asking[task].late_until = self._timing.now() + COOLING_SECONDS
                task.add_done_callback(self._tell_of_late)
            for task, upstream in asking.items():
                found[upstream.name] = _late(upstream.name) if task in late or task.cancelled() else task.result()
        return {name: found[name] for name in self._registry.names if name in found}

    async def _wait(
        self, asking: dict[asyncio.Task[_Found], Upstream], seconds: float | None
    ) -> set[asyncio.Task[_Found]]:
        """Who was too late."""
        _, late = await asyncio.wait(asking, timeout=QUIET_SECONDS if seconds is None else seconds)
        if seconds is not None or not late:
            return late
        if self.settling.tell is not None:
            self.settling.tell([upstream.name for task, upstream in asking.items() if task in late])
        await asyncio.wait(late)
        return set()

    def _in_the_background(self, upstream: Upstream, kind: Kind) -> asyncio.Task[_Found]:
        """It goes on when nobody waits any more: a server that is slow to start is to be there in the end."""
        key = upstream, kind
        if key not in self._asking:
            task = asyncio.get_running_loop().create_task(self._found(upstream, kind), name=f"list {upstream.name}")
            task.add_done_callback(lambda _: self._asking.pop(key))
            self._asking[key] = task
        return self._asking[key]

    async def _found(self, upstream: Upstream, kind: Kind) -> _Found:
        try:
            return await self.alone(upstream, kind)
        except HubError as error:
            return error
        except Exception as fault:  # noqa: BLE001 - a mistake of ours with one server must not take the lists of all others
            _log.warning("the list of %s", upstream.name, exc_info=fault)
            return HubError(Code.EXECUTION_FAILED, f"{upstream.name}: its list can't be read: {fault}")

    def _tell_of_late(self, task: asyncio.Task[_Found]) -> None:
        if not task.cancelled() and task.exception() is None and not isinstance(task.result(), HubError):
            self.on_late()

    async def alone(self, upstream: Upstream, kind: Kind) -> dict[str, Any]:
        async with upstream.session(upstream.config.timeout / 1000) as live:
            return await self.of(upstream, live, kind)

    async def _ask(self, upstream: Upstream, live: Live, kind: Kind) -> tuple[dict[str, Any], float]:
        """The list by its entries' names, and how long it is good."""
        needed = _CAPABILITY.get(kind)
        if needed is not None and needed not in live.session.greeting.capabilities:
            return {}, SECONDS
        try:
            listing = await live.session.listing(kind)
        except (ClientError, RpcError) as error:
            if isinstance(error, RpcError) and error.code == METHOD_NOT_FOUND:
                return {}, SECONDS
            upstream.judge(live, error)
            raise unreachable(error, upstream.name) from error
        upstream.late_until = 0.0
        named: dict[str, Any] = {}
        for entry in listing.entries:
            name = entry.get(_KEYS[kind])
            if isinstance(name, str) and name:
                # Of two with one name the first counts: it is the one that a server is asked for by most.
                named.setdefault(name, self._entry(upstream, kind, entry))
        told = listing.freshness.seconds
        return named, SECONDS if told is None else max(told, LEAST_SECONDS)

    def _entry(self, upstream: Upstream, kind: Kind, entry: Table) -> Any:
        return Tool(upstream.name, entry, upstream.version) if kind == "tools" else entry


def _late(server: str) -> HubError:
    return HubError(Code.TIMEOUT, f"{server}: {LATE}", {"server": server})
