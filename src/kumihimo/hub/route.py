"""The way of a call, found once: to a tool of a server whose session is open and whose list is known."""

from __future__ import annotations

from typing import NamedTuple

from kumihimo.hub.live import Listed, Live
from kumihimo.hub.naming import Reference
from kumihimo.hub.tools import Tool
from kumihimo.hub.upstream import Upstream


class Route(NamedTuple):
    reference: Reference
    upstream: Upstream
    live: Live
    listed: Listed
    tool: Tool

    def is_open(self, now: float) -> bool:
        """Whether all of it is still so: the session, the list with the tool in it, and that the server may be called. A
        server that was removed, or is configured otherwise, has no session."""
        upstream, live, listed = self.upstream, self.live, self.listed
        if upstream.live is not live or live.lists.get("tools") is not listed or now < upstream.quiet_until:
            return False
        return now < listed.until or (listed.heard and upstream.tells_changes("tools"))
