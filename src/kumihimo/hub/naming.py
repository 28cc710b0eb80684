"""Which tool a name means: `server:tool`, or the tool's own name where only one has it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kumihimo.hub.call import require_name
from kumihimo.hub.errors import Code, HubError, unknown_server
from kumihimo.hub.lists import Lists
from kumihimo.hub.local import LocalTool
from kumihimo.hub.permission import EVERYTHING, Permission
from kumihimo.hub.registry import Registry

_MOST_TOLD = 200


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
        if server == LocalTool.SERVER and tool in self._local:
            return Reference(server, tool)
        return Reference(server, tool) if tool and server in self._registry else None

    async def find(self, name: str, worktree: Path | None = None, permission: Permission = EVERYTHING) -> Reference:
        """HubError TOOL_NOT_FOUND or AMBIGUOUS_TOOL, or INVALID_REQUEST for what is no name."""
        require_name(name)
        server, colon, tool = name.partition(":")
        if colon and (server in self._registry or (server == LocalTool.SERVER and tool in self._local)):
            return Reference(server, tool)
        return await self._find_bare(name, worktree, permission)

    async def _find_bare(self, name: str, worktree: Path | None, permission: Permission) -> Reference:
        if name in self._local:
            listed = await self._lists.everywhere("tools", worktree, self._lists.settling.naming)
        else:
            listed = await self._lists.among("tools", worktree, lambda tools: name in tools)
        owners = [server for server, tools in listed.items() if not isinstance(tools, HubError) and name in tools]
        # A tool that must not be called does not make another one ambiguous.
        permitted = [
            server
            for server in owners
            if self._registry.definition(server).config.permits(name) and permission.permits(server, name)
        ]
        owners = permitted or owners[:1]
        if name in self._local:
            # Also where a server is called so: the program's own is meant.
            owners = [LocalTool.SERVER, *(server for server in owners if server != LocalTool.SERVER)]
        if len(owners) == 1:
            return Reference(owners[0], name)
        if owners:
            choices = [f"{server}:{name}" for server in owners]
            raise HubError(
                Code.AMBIGUOUS_TOOL,
                f"Several servers have a tool '{name}': say which, {' or '.join(choices)}.",
                {"choices": choices},
            )
        reached = {server: tools for server, tools in listed.items() if not isinstance(tools, HubError)}
        # Who has named a server is shown names with servers.
        known = [
            f"{server}:{tool}" if ":" in name else str(tool)
            for server, tools in reached.items()
            for tool in tools
            if permission.permits(server, tool)
        ]
        missing = not_found(name, [*known, *self._local], [server for server in listed if server not in reached])
        if name in self._registry:
            raise HubError(missing.code, f"'{name}' is a server: name one of its tools, {name}:TOOL.", missing.details)
        server, colon, _ = name.partition(":")
        if colon and missing.details and not missing.details["near"]:
            raise HubError(
                missing.code,
                f"{missing.message} {unknown_server(server, filter(permission.knows, listed)).message}",
                missing.details,
            )
        raise missing


def not_found(name: str, known: list[str], unreachable: list[str]) -> HubError:
    near = list(dict.fromkeys(difflib.get_close_matches(name, known, n=3)))
    message = f"No tool is called '{name[:_MOST_TOLD]}'."
    if near:
        message += f" Did you mean {' or '.join(near)}?"
    if unreachable:
        message += f" These servers can't be asked now: {', '.join(unreachable)}."
    elif not near:
        message += " `hub_search`, or `kumi hub tools`, finds what there is."
    return HubError(Code.TOOL_NOT_FOUND, message, {"near": near, "unreachable": unreachable})
