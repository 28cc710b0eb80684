"""A catalog: the tools, resources and prompts of one audience, with their lists encoded ahead."""

import base64
import binascii
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from kumihimo.wire.errors import InvalidParams
from kumihimo.wire.jsonrpc import encode
from kumihimo.wire.prompt import Prompt
from kumihimo.wire.resource import CacheScope, Resource, ResourceTemplate
from kumihimo.wire.revision import Revision
from kumihimo.wire.tool import Tool

Kind = Literal["tools", "resources", "resourceTemplates", "prompts"]
Definition = Tool | Resource | ResourceTemplate | Prompt


class Catalog:
    """What one audience is offered. It does not change: a server that offers something else gets a new catalog.

    Lists keep the order they were given in. `page_size` splits them into pages; `ttl_ms` and `cache_scope` tell
    clients of 2026-07-28 how long and for whom a list may be kept. `live_tools` is asked for more tools before they are
    listed, and before a tool is said to be unknown: the same object for as long as they are the same.
    """

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        resources: Iterable[Resource] = (),
        templates: Iterable[ResourceTemplate] = (),
        prompts: Iterable[Prompt] = (),
        *,
        page_size: int | None = None,
        ttl_ms: int = 0,
        cache_scope: CacheScope = "private",
        live_tools: Callable[[], Awaitable[Sequence[Tool]]] | None = None,
    ) -> None:
        self.tools: Mapping[str, Tool] = _by_name(tools, lambda tool: tool.name)
        self.live_tools = live_tools
        self._own_tools = self.tools
        self._last_tools: Sequence[Tool] = ()
        self.resources: Mapping[str, Resource] = _by_name(resources, lambda resource: resource.uri)
        self.templates = tuple(templates)
        self.prompts: Mapping[str, Prompt] = _by_name(prompts, lambda prompt: prompt.name)
        self._page_size = page_size
        self._hints = b',"ttlMs":%d,"cacheScope":"%b"' % (ttl_ms, cache_scope.encode())
        self._pages: dict[tuple[Kind, str], list[bytes]] = {}
        self._matchers: list[tuple[ResourceTemplate, Callable[[str], dict[str, str] | None]]] | None = None

    async def refresh(self) -> None:
        """Have the tools of this moment. Of two with one name our own counts."""
        assert self.live_tools is not None, "only a catalog with live tools has others than before"
        found = await self.live_tools()
        if found is not self._last_tools:
            self._last_tools = found
            self.tools = {**_by_name(found, lambda tool: tool.name), **self._own_tools}
            self._pages = {key: pages for key, pages in self._pages.items() if key[0] != "tools"}

    def page(self, kind: Kind, revision: Revision, cursor: str | None) -> bytes:
        """The fields of one page of a list; InvalidParams for a cursor that no page of ours gave."""
        pages = self._pages.get((kind, revision.name))
        if pages is None:
            pages = self._encode_pages(kind, revision)
        if cursor is None:
            return pages[0]
        number = _page_number(kind, cursor)
        if not 0 < number < len(pages):
            raise InvalidParams("Invalid cursor: ask for the list again without one")
        return pages[number]

    def resource(self, uri: str) -> tuple[ResourceTemplate, dict[str, str]] | None:
        """The first template that the URI fits, with the values of its holes."""
        if self._matchers is None:
            self._matchers = [(template, template.matcher()) for template in self.templates]
        for template, matcher in self._matchers:
            values = matcher(uri)
            if values is not None:
                return template, values
        return None

    def _definitions(self, kind: Kind) -> Sequence[Definition]:
        if kind == "tools":
            return tuple(tool for tool in self.tools.values() if tool.listed)
        if kind == "resources":
            return tuple(self.resources.values())
        if kind == "prompts":
            return tuple(self.prompts.values())
        return self.templates

    def _encode_pages(self, kind: Kind, revision: Revision) -> list[bytes]:
        definitions = [definition.definition(revision) for definition in self._definitions(kind)]
        size = self._page_size or max(1, len(definitions))
        starts = range(0, max(1, len(definitions)), size)
        hints = b"" if revision.handshake else self._hints
        pages: list[bytes] = []
        for number, start in enumerate(starts):
            fields = b'"%b":%b' % (kind.encode(), encode(definitions[start : start + size]))
            if start + size < len(definitions):
                fields += b',"nextCursor":"%b"' % _cursor(kind, number + 1)
            pages.append(fields + hints)
        self._pages[kind, revision.name] = pages
        return pages


def _by_name(definitions: Iterable[Any], name: Callable[[Any], str]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for definition in definitions:
        if name(definition) in named:
            raise ValueError(f"{name(definition)!r} is defined twice in one catalog")
        named[name(definition)] = definition
    return named


def _cursor(kind: Kind, number: int) -> bytes:
    return base64.urlsafe_b64encode(b"%b:%d" % (kind.encode(), number))


def _page_number(kind: Kind, cursor: str) -> int:
    try:
        decoded = base64.urlsafe_b64decode(cursor.encode("ascii", "replace"))
    except (binascii.Error, ValueError):
        return -1
    prefix, _, number = decoded.partition(b":")
    return int(number) if prefix == kind.encode() and number.isdigit() and len(number) < 9 else -1
