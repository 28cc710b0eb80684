"""Prompts and resources of the servers: listed, found by their names, and read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from kumihimo.hub.caching import Cache
from kumihimo.hub.errors import Code, HubError, unknown_server
from kumihimo.hub.lists import Lists
from kumihimo.hub.registry import Registry
from kumihimo.hub.retrying import Tries
from kumihimo.hub.timing import Timing
from kumihimo.hub.tools import Table
from kumihimo.hub.upstream import Upstream
from kumihimo.wire.client.answers import table
from kumihimo.wire.client.errors import BadAnswer, ClientError
from kumihimo.wire.client.freshness import freshness_of
from kumihimo.wire.client.listing import Kind
from kumihimo.wire.errors import RpcError
from kumihimo.wire.jsonrpc import encode

_VARIABLE = re.compile(r"\{[^}]*\}")


class _Contents(Struct):
    contents: list[Table] = []


class Offers:
    """Reading is safe to repeat: all of it is tried again by the policy of its server."""

    def __init__(self, registry: Registry, lists: Lists, cache: Cache, timing: Timing) -> None:
        self._registry = registry
        self._lists = lists
        self._cache = cache
        self._timing = timing

    async def listed(self, kind: Kind, server: str | None = None, worktree: Path | None = None) -> list[Table]:
        """Each entry with its server. A server that can't be asked has none, unless it alone was asked for."""
        if server is not None:
            upstream = self._upstream(server, worktree)
            return _with_servers({server: await self._lists.alone(upstream, kind)})
        return _with_servers(await self._lists.everywhere(kind, worktree, self._lists.settling.listing))

    async def _owners(self, kind: Kind, worktree: Path | None, is_it: Callable[[Table], bool]) -> list[str]:
        """The servers that have what was named, as far as it can be known."""
        found = await self._lists.among(kind, worktree, lambda entries: any(map(is_it, entries.values())))
        return list(dict.fromkeys(entry["server"] for entry in _with_servers(found) if is_it(entry)))

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, Any] | None = None, worktree: Path | None = None
    ) -> Table:
        """HubError where it can't be had; its name or arguments are wrong is INVALID_PARAMS."""
        given = {
            key: value if isinstance(value, str) else encode(value).decode() for key, value in (arguments or {}).items()
        }
        fields = b'"name":%b,"arguments":%b' % (encode(name), encode(given))
        raw = await self._ask(self._upstream(server, worktree), "prompts/get", fields, name)
        try:
            prompt = table(raw)
        except BadAnswer as error:
            raise HubError(Code.EXECUTION_FAILED, f"{server}: {error.reason}", {"server": server}) from error
        if not isinstance(prompt.get("messages"), list):
            raise HubError(Code.EXECUTION_FAILED, f"{server}: the prompt has no list of messages", {"server": server})
        return prompt

    async def read_resource(
        self, server: str, uri: str, worktree: Path | None = None, caller: str | None = None
    ) -> list[Table]:
        """Its contents. HubError RESOURCE_NOT_FOUND where the server has none by this address."""
        upstream = self._upstream(server, worktree)
        for scope in (("public",), ("private", caller)):
            if (kept := self._cache.get((upstream.key, "resource", uri, scope))) is not None:
                return kept
        age = self._cache.age(upstream.key)
        try:
            raw = await self._ask(upstream, "resources/read", b'"uri":%b' % encode(uri), uri)
        except HubError as error:
            # The newest revision has no code of its own for this.
            if error.code is Code.INVALID_PARAMS:
                raise HubError(Code.RESOURCE_NOT_FOUND, error.message, error.details) from error
            raise
        try:
            contents = msgspec.json.decode(raw, type=_Contents).contents
        except msgspec.DecodeError as error:
            raise HubError(Code.EXECUTION_FAILED, f"{server}: the resource has another shape: {error}") from error
        fresh = freshness_of(table(raw))
        scope = ("public",) if fresh.scope == "public" else ("private", caller)
        self._cache.put(upstream.key, (upstream.key, "resource", uri, scope), contents, fresh.seconds or 0.0, age)
        return contents

    async def owner_of_prompt(self, name: str, worktree: Path | None = None) -> tuple[str, str]:
        """The server and the prompt that a name means, `server:prompt` or the prompt's own."""
        server, colon, prompt = name.partition(":")
        if colon and server in self._registry:
            return server, prompt
        owners = await self._owners("prompts", worktree, lambda entry: entry.get("name") == name)
        return self._only("prompt", name, owners), name

    async def owner_of_resource(self, uri: str, worktree: Path | None = None) -> str:
        """The server that lists it, else the one with a template that it fits."""
        owners = await self._owners("resources", worktree, lambda entry: entry.get("uri") == uri)
        if not owners:
            owners = await self._owners("templates", worktree, lambda it: _fits(uri, str(it.get("uriTemplate", ""))))
        return self._only("resource", uri, owners)

    @staticmethod
    def _only(noun: str, name: str, owners: list[str]) -> str:
        if len(owners) == 1:
            return owners[0]
        if owners:
            choices = ", ".join(owners)
            raise HubError(
                Code.AMBIGUOUS_TOOL, f"Several servers have the {noun} '{name}': {choices}.", {"choices": owners}
            )
        code = Code.RESOURCE_NOT_FOUND if noun == "resource" else Code.INVALID_PARAMS
        raise HubError(code, f"No server has a {noun} '{name}'.", {noun: name}, missing=True)

    def _upstream(self, server: str, worktree: Path | None) -> Upstream:
        if server not in self._registry:
            raise unknown_server(server, self._registry.names)
        return self._registry.get(server, worktree)

    async def _ask(self, upstream: Upstream, method: str, fields: bytes, named: str) -> Raw:
        seconds = upstream.config.timeout / 1000
        tries = Tries(upstream.config.retry_policy, self._timing, patience_seconds=seconds)
        tries.repeatable = True

        async def attempt() -> Raw:
            async with upstream.session(seconds) as live:
                try:
                    raw = await live.session.request(method, fields, named=named, seconds=seconds)
                except (ClientError, RpcError) as error:
                    raise upstream.judge(live, error) from error
            upstream.answered()
            return raw

        return await tries.perform(attempt)


def _with_servers(found: Mapping[str, dict[str, Any] | HubError]) -> list[Table]:
    return [
        {"server": name, **entry}
        for name, entries in found.items()
        if not isinstance(entries, HubError)
        for entry in entries.values()
    ]


def _fits(uri: str, template: str) -> bool:
    pieces = [re.escape(piece) for piece in _VARIABLE.split(template)]
    return len(pieces) > 1 and re.fullmatch(".+".join(pieces), uri) is not None


class _Spoken(Struct):
    content: Any = None


def texts_of(prompt: Table) -> str:
    """What a prompt says, without pictures and the like."""
    try:
        messages = msgspec.convert(prompt.get("messages", []), list[_Spoken])
    except msgspec.ValidationError as error:
        raise HubError(Code.EXECUTION_FAILED, f"The prompt has another shape: {error}") from error
    blocks: list[Any] = []
    for content in [message.content for message in messages]:
        blocks += cast("list[Any]", content) if isinstance(content, list) else [content]
    tables = [cast("Table", block) for block in blocks if isinstance(block, dict)]
    return "\n".join(str(table["text"]) for table in tables if table.get("type") == "text" and "text" in table)
