"""One try of a call, once its session and its tool are known: what is kept and cleared around it, and what its answer means."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from kumihimo.hub.caching import SECONDS, Cache
from kumihimo.hub.call import Call
from kumihimo.hub.live import Live
from kumihimo.hub.results import ToolReply, reply_of
from kumihimo.hub.tools import Tool
from kumihimo.hub.upstream import Upstream

_PUBLIC = ("public",)
_MOST_KEPT_BYTES = 1024 * 1024


class Attempt:
    """First `kept`; where there is nothing, `begin`, then `end` whatever came, and `received` with what the server said."""

    __slots__ = ("_age", "_cache", "_call", "_key", "_upstream", "live", "tool")

    def __init__(self, cache: Cache, call: Call, upstream: Upstream, live: Live, tool: Tool) -> None:
        self.live = live
        self.tool = tool
        self._cache = cache
        self._call = call
        self._upstream = upstream
        self._key: tuple[Any, ...] = ()
        self._age = 0

    def kept(self) -> Raw | None:
        """The data of an answer that is still good."""
        tool = self.tool
        if not tool.read_only:
            return None
        # Sorted: the order of the arguments makes no other call.
        arguments = msgspec.json.encode(self._call.params, order="sorted")
        self._key = (self._upstream.key, tool.short_name, arguments)
        for scope in (_PUBLIC, ("private", self._call.caller)):
            if (kept := self._cache.get((*self._key, scope))) is not None:
                self._call.cached = True
                self._call.reply = kept
                return reply_of(kept, tool.name, tool.server).data
        return None

    def begin(self) -> None:
        if not self.tool.read_only:
            self._cache.clear(self._upstream.key)
        self._age = self._cache.age(self._upstream.key)

    def end(self) -> None:
        if not self.tool.read_only:
            self._cache.clear(self._upstream.key)

    def received(self, raw: Raw) -> Raw:
        """The data of the answer. HubError where it is none, or says that the tool failed."""
        tool = self.tool
        self._upstream.answered()
        self._call.reply = raw
        reply = reply_of(raw, tool.name, tool.server)
        if tool.read_only:
            self._keep(reply, raw)
        return reply.data

    def _keep(self, reply: ToolReply, raw: Raw) -> None:
        """Only what the server has put a time on, or whose server is configured for it."""
        seconds = reply.seconds
        if seconds is None:
            seconds = SECONDS if self._upstream.config.cache else 0.0
        scope = _PUBLIC if reply.cache_scope == "public" else ("private", self._call.caller)
        if seconds > 0 and len(memoryview(raw)) <= _MOST_KEPT_BYTES:
            # A copy: what came holds all that was read with it.
            self._cache.put(self._upstream.key, (*self._key, scope), raw.copy(), seconds, self._age)
