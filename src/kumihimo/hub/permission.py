"""What one caller may use of all that a hub has, besides what the lists of the servers themselves say."""

from __future__ import annotations

from msgspec import Struct


class Permission(Struct, frozen=True):
    """Names are `server:tool`, or `server` for all its tools. Without an allow list everything is allowed; deny wins."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    def permits(self, server: str, tool: str) -> bool:
        names = {server, f"{server}:*", f"{server}:{tool}"}
        return names.isdisjoint(self.deny) and (self.allow is None or not names.isdisjoint(self.allow))

    def knows(self, server: str) -> bool:
        """Whether there can be anything of this server for the caller."""
        if server in self.deny or f"{server}:*" in self.deny:
            return False
        return self.allow is None or any(name.partition(":")[0] == server for name in self.allow)


EVERYTHING = Permission()
