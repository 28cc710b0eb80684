"""Resources and templates of resources: their definitions, and what reading one answers."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from kumihimo.wire.content import Annotations, BlobContents, TextContents
from kumihimo.wire.implementation import Icon
from kumihimo.wire.revision import Revision

if TYPE_CHECKING:
    from kumihimo.wire.request import Request

Contents = TextContents | BlobContents
CacheScope = Literal["public", "private"]


class ResourceResult(Struct):
    """What was read, and for how long a client may keep it. `private` is never shared between callers."""

    contents: Sequence[Contents]
    ttl_ms: int = 0
    cache_scope: CacheScope = "private"


class Resource(Struct, frozen=True, kw_only=True, eq=False):
    """A resource with a fixed URI; `handler(request, uri)` returns contents, a list of them, or a ResourceResult."""

    uri: str
    name: str
    handler: "Callable[[Request, str], Any]"
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Annotations | None = None
    icons: tuple[Icon, ...] = ()
    meta: Mapping[str, Any] | None = None

    def definition(self, revision: Revision) -> dict[str, Any]:
        shown: dict[str, Any] = {"uri": self.uri, "name": self.name}
        if self.size is not None:
            shown["size"] = self.size
        return shown | _described(self, revision)


class ResourceTemplate(Struct, frozen=True, kw_only=True, eq=False):
    """Resources whose URI has holes, as `board://task/{id}`; `handler(request, uri, values)` gets what filled them.

    A hole `{name}` matches anything without a slash, `{+name}` anything.
    """

    uri_template: str
    name: str
    handler: "Callable[[Request, str, dict[str, str]], Any]"
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    icons: tuple[Icon, ...] = ()
    meta: Mapping[str, Any] | None = None

    def definition(self, revision: Revision) -> dict[str, Any]:
        return {"uriTemplate": self.uri_template, "name": self.name} | _described(self, revision)

    def matcher(self) -> "Callable[[str], dict[str, str] | None]":
        """A function from a URI to the values of the holes, or to None where the URI is another's."""
        parts = re.split(r"\{(\+?[A-Za-z_][A-Za-z0-9_]*)\}", self.uri_template)
        pattern = "".join(
            re.escape(part) if index % 2 == 0 else f"(?P<{part.lstrip('+')}>{'.+' if part[0] == '+' else '[^/]+'})"
            for index, part in enumerate(parts)
        )
        match = re.compile(pattern, re.DOTALL).fullmatch

        def values(uri: str) -> dict[str, str] | None:
            found = match(uri)
            return None if found is None else found.groupdict()

        return values


def _described(definition: Resource | ResourceTemplate, revision: Revision) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if revision.structured and definition.title is not None:
        shown["title"] = definition.title
    if definition.description is not None:
        shown["description"] = definition.description
    if definition.mime_type is not None:
        shown["mimeType"] = definition.mime_type
    if definition.annotations is not None:
        shown["annotations"] = definition.annotations
    if revision.icons and definition.icons:
        shown["icons"] = definition.icons
    if revision.structured and definition.meta:
        shown["_meta"] = definition.meta
    return shown
