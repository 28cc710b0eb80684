"""Which tool a name means: `server:tool`, or the tool's own name where only one has it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.lists import Lists
from kumihimo.hub.local import LocalTool
from kumihimo.hub.permission import EVERYTHING, Permission
from kumihimo.hub.registry import Registry


class Reference(NamedTuple):
    """A tool that was named. Whether its server has it is known when it is asked."""

    server: str
    tool: str


class Names:
    def __init__(self, registry: Registry, lists: Lists, local: Mapping[str, LocalTool]) -> None:
        self._registry = registry
        self._lists = lists
        self._local = local

    def at_once(self, name: str) -> Reference | None:
        """Where the name says itself which server is meant."""
        server, _, tool = name.partition(":")
        return Reference(server, tool) if tool and server in self._registry else None

    async def find(self, name: str, worktree: Path | None = None, permission: Permission = EVERYTHING) -> Reference:
        """HubError TOOL_NOT_FOUND or AMBIGUOUS_TOOL."""
        server, colon, tool = name.partition(":")
        if colon and server in self._registry:
            return Reference(server, tool)
        if colon and server == LocalTool.SERVER and tool in self._local:
            return Reference(server, tool)
        return await self._find_bare(name, worktree, permission)

    async def _find_bare(self, name: str, worktree: Path | None, permission: Permission) -> Reference:
        listed = await self._lists.everywhere("tools", worktree)
        owners = [server for server, tools in listed.items() if not isinstance(tools, HubError) and name in tools]
        # A tool that must not be called does not make another one ambiguous.
        permitted = [
            server
            for server in owners
            if self._registry.definition(server).config.permits(name) and permission.permits(server, name)
        ]
        owners = permitted or owners[:1]
        if name in self._local:
            owners.insert(0, LocalTool.SERVER)
        if len(owners) == 1:
            return Reference(owners[0], name)
        if owners:
            choices = [f"{server}:{name}" for server in owners]
            raise HubError(
                Code.AMBIGUOUS_TOOL,
                f"Several servers have a tool '{name}': say which, {' or '.join(choices)}.",
                {"choices": choices},
            )
        known = [str(tool) for tools in listed.values() if not isinstance(tools, HubError) for tool in tools]
        unreachable = [server for server, tools in listed.items() if isinstance(tools, HubError)]
        raise not_found(name, [*known, *self._local, *self._registry.names], unreachable)


def not_found(name: str, known: list[str], unreachable: list[str]) -> HubError:
    near = difflib.get_close_matches(name, known, n=3)
    message = f"No tool is called '{name}'."
    if near:
        message += f" Did you mean {' or '.join(near)}?"
    if unreachable:
        message += f" These servers can't be asked now: {', '.join(unreachable)}."
    return HubError(Code.TOOL_NOT_FOUND, message, {"near": near, "unreachable": unreachable})
