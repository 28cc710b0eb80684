"""Serena, the server that knows symbols, by methods: `await hub.serena.find_symbol(name="Shop", type="class")`.

Each method answers what `execute_tool` would, with the data as values where Serena tells them as text. A method that the
Serena which is there has nothing for is answered TOOL_NOT_FOUND.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from kumihimo.hub import serena_tools
from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.live import Live
from kumihimo.hub.registry import Registry
from kumihimo.hub.results import Answer, Metadata, failed
from kumihimo.hub.serena_project import NAME, is_serena
from kumihimo.hub.serena_tools import KINDS, WAYS, Kind, Way
from kumihimo.hub.tools import Tool

_REPL = "serena_repl"
_ITS_TOOLS = {"find_symbol", "get_symbols_overview", "find_referencing_symbols"}


class Caller(Protocol):
    """The hub, as far as it is needed here."""

    async def list_tools(self, server: str | None = None, *, worktree: Path | None = None) -> list[Tool]: ...

    async def execute_tool(self, name: str, params: Any = None, *, worktree: Path | None = None) -> Answer: ...


def serena_among(registry: Registry) -> str | None:
    """The server that is called so, else one that starts Serena, else one that has shown itself to be one."""
    configs = {name: msgspec.to_builtins(registry.definition(name).config) for name in registry.names}
    named = [name for name in configs if name.lower() == NAME]
    started = [name for name, config in configs.items() if is_serena(config)]
    shown = [upstream.name for upstream in registry.upstreams if upstream.live and _shows_itself(upstream.live)]
    return next(iter([*named, *started, *shown]), None)


def _shows_itself(live: Live) -> bool:
    """By how it greets, or by tools that no other has."""
    listed = live.lists.get("tools")
    return live.session.greeting.server.name.lower() == NAME or bool(listed and set(listed.entries) >= _ITS_TOOLS)


class Serena:
    """`path` is relative to the project, which is that of `worktree`; a symbol is named by its path, `Shop/price`."""

    def __init__(self, caller: Caller, server: str, folder: Callable[[Path | None], Path]) -> None:
        """`folder` is where the project is, for a worktree."""
        self.server = server
        self._caller = caller
        self._folder = folder

    async def find_symbol(
        self,
        *,
        name: str | None = None,
        type: Kind | None = None,  # noqa: A002 - the name that the design gives it
        include_body: bool = False,
        path: str | None = None,
        worktree: Path | None = None,
    ) -> Answer:
        """A list of symbols, each with `name`, `type`, `path` and `line`, and `body` where that is asked for."""
        if type is not None and type not in KINDS:
            return self._mistaken(f"'{type}' is no type of symbol: there are {', '.join(KINDS)}.")
        given = {"name": name, "kinds": KINDS[type] if type else None, "include_body": include_body, "path": path}
        return await self._ask("find_symbol", given, worktree, serena_tools.symbols)

    async def get_symbols_overview(self, *, path: str, worktree: Path | None = None) -> Answer:
        return await self._ask("get_symbols_overview", {"path": path}, worktree)

    async def replace_symbol_body(
        self,
        *,
        path: str,
        symbol_name: str,
        new_body: str,
        preserve_indentation: bool = False,
        worktree: Path | None = None,
    ) -> Answer:
        """The body takes the place of the whole definition. With `preserve_indentation` its lines are moved in as far as
        the symbol stands; otherwise they are taken as they are, and only the first stands where the symbol stood."""
        if preserve_indentation:
            answer = await self.find_symbol(name=symbol_name, path=path, worktree=worktree)
            if not answer.success:
                return answer
            try:
                new_body = await asyncio.to_thread(self._moved_in, new_body, path, answer.data, worktree)
            except (OSError, ValueError, IndexError) as error:
                return self._mistaken(f"{path} can't be read here ({error}): indent the body, without this option.")
        given = {"path": path, "symbol_name": symbol_name, "body": new_body}
        return await self._ask("replace_symbol_body", given, worktree)

    async def insert_before_symbol(
        self, *, path: str, symbol_name: str, body: str, worktree: Path | None = None
    ) -> Answer:
        given = {"path": path, "symbol_name": symbol_name, "body": body}
        return await self._ask("insert_before_symbol", given, worktree)

    async def insert_after_symbol(
        self, *, path: str, symbol_name: str, body: str, worktree: Path | None = None
    ) -> Answer:
        given = {"path": path, "symbol_name": symbol_name, "body": body}
        return await self._ask("insert_after_symbol", given, worktree)

    async def search_for_pattern(
        self, *, pattern: str | re.Pattern[str], path: str | None = None, worktree: Path | None = None
    ) -> Answer:
        """A text is a regular expression too."""
        given = {"pattern": serena_tools.pattern_text(pattern), "path": path}
        return await self._ask("search_for_pattern", given, worktree)

    async def replace_regex(
        self,
        *,
        path: str,
        pattern: str | re.Pattern[str],
        replacement: str,
        allow_multiple_occurrences: bool = False,
        worktree: Path | None = None,
    ) -> Answer:
        r"""`\1` in the replacement is the first group. More than one place is a mistake unless it is allowed."""
        text = serena_tools.pattern_text(pattern)
        given = {"path": path, "pattern": text, "replacement": replacement, "many": allow_multiple_occurrences}
        return await self._ask("replace_regex", given, worktree)

    async def find_file(self, *, pattern: str, path: str = ".", worktree: Path | None = None) -> Answer:
        """A list of paths."""
        return await self._ask("find_file", {"pattern": pattern, "path": path}, worktree, serena_tools.files)

    async def list_dir(self, *, path: str = ".", recursive: bool = False, worktree: Path | None = None) -> Answer:
        return await self._ask("list_dir", {"path": path, "recursive": recursive}, worktree)

    async def read_memory(self, *, key: str, worktree: Path | None = None) -> Answer:
        return await self._ask("read_memory", {"key": key}, worktree)

    async def write_memory(self, *, key: str, value: Any, worktree: Path | None = None) -> Answer:
        """A memory is text: any other value is written as JSON."""
        try:
            text = serena_tools.text_of(value)
        except (TypeError, ValueError) as error:
            return self._mistaken(f"The value of a memory is text or JSON: {error}.")
        return await self._ask("write_memory", {"key": key, "value": text}, worktree)

    async def find_referencing_symbols(self, *, symbol: str, path: str = "", worktree: Path | None = None) -> Answer:
        """`path` is the file of the symbol, needed where several have one of this name."""
        return await self._ask("find_referencing_symbols", {"symbol": symbol, "path": path}, worktree)

    async def think_about_collected_information(self, *, context: Any = None, worktree: Path | None = None) -> Answer:
        return await self._ask("think_about_collected_information", {"context": context}, worktree)

    async def think_about_whether_you_are_done(self, *, task: Any = None, worktree: Path | None = None) -> Answer:
        return await self._ask("think_about_whether_you_are_done", {"task": task}, worktree)

    async def _ask(
        self,
        method: str,
        given: Mapping[str, Any],
        worktree: Path | None,
        shape: Callable[[Any], Any] = lambda value: value,
    ) -> Answer:
        ways = WAYS[method]
        try:
            offered = {tool.short_name: tool for tool in await self._caller.list_tools(self.server, worktree=worktree)}
        except HubError:
            # Why it can't be asked is told by the call, which tries again where that may help.
            offered = {}
        # One that is not offered is called all the same: whether it is denied or not there is the hub's to say.
        way = next((way for way in ways if way.tool in offered), ways[0])
        arguments = way.arguments(given, offered.get(way.tool))
        answer = await self._caller.execute_tool(f"{self.server}:{way.tool}", arguments, worktree=worktree)
        if answer.success:
            return msgspec.structs.replace(answer, data=shape(serena_tools.value_of(answer.data)))
        if answer.error is not None and answer.error.code is Code.TOOL_NOT_FOUND:
            return self._failed(_missing(method, ways, self.server, offered))
        return answer

    def _moved_in(self, body: str, path: str, symbols: Any, worktree: Path | None) -> str:
        """The body as it is to stand where the symbol does. Where that is not one place, Serena is left to say so."""
        line = serena_tools.only_line(symbols)
        if line is None:
            return body
        text = (self._folder(worktree) / path).read_text("utf-8").split("\n")[line]
        return _indented(body, text[: len(text) - len(text.lstrip())])

    def _mistaken(self, message: str) -> Answer:
        return self._failed(HubError(Code.INVALID_PARAMS, message, {"server": self.server}))

    def _failed(self, error: HubError) -> Answer:
        return failed(error, Metadata(0.0, self.server, 0, False))


def _indented(body: str, indentation: str) -> str:
    """Every line but the first, which begins where the symbol begins."""
    lines = body.splitlines()
    own = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    moved = [line[own:] if not line[:own].strip() else line.lstrip() for line in lines]
    rest = [indentation + line if line.strip() else "" for line in moved[1:]]
    return "\n".join([*moved[:1], *rest])


def _missing(method: str, ways: tuple[Way, ...], server: str, offered: Mapping[str, Tool]) -> HubError:
    version = next((tool.version for tool in offered.values()), "")
    hint = (
        "It offers its REPL alone: start it with `--agent-interface tools`."
        if _REPL in offered
        else "Its `--context` may leave it out, or this release has none."
    )
    return HubError(
        Code.TOOL_NOT_FOUND,
        f"The Serena '{server}'{f' {version}' if version else ''} has no tool for {method}: "
        f"it would be {' or '.join(way.tool for way in ways)}. {hint}",
        {"server": server, "tool": method, "offered": sorted(offered)},
    )
