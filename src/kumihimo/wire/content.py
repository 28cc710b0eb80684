"""What a tool answers and a prompt says: blocks of text, pictures, sound and resources."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from kumihimo.wire.implementation import Icon

Role = Literal["user", "assistant"]


class Annotations(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """For whom a block is, how much it matters (0 to 1), and when it last changed."""

    audience: tuple[Role, ...] = ()
    priority: float | None = None
    last_modified: str | None = None


class _Block(Struct, frozen=True, omit_defaults=True, tag_field="type", kw_only=True):
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None


_CAMEL = {"mime_type": "mimeType", "meta": "_meta"}


class Text(_Block, frozen=True, tag="text", rename=_CAMEL):
    text: str


class Image(_Block, frozen=True, tag="image", rename=_CAMEL):
    """`data` is base64."""

    data: str
    mime_type: str


class Audio(_Block, frozen=True, tag="audio", rename=_CAMEL):
    """`data` is base64."""

    data: str
    mime_type: str


class ResourceLink(_Block, frozen=True, tag="resource_link", rename=_CAMEL):
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: tuple[Icon, ...] = ()


class TextContents(Struct, frozen=True, omit_defaults=True, rename=_CAMEL):
    """The contents of a resource that is text."""

    uri: str
    text: str
    mime_type: str | None = None
    meta: Mapping[str, Any] | None = None


class BlobContents(Struct, frozen=True, omit_defaults=True, rename=_CAMEL):
    """The contents of a resource that is binary; `blob` is base64."""

    uri: str
    blob: str
    mime_type: str | None = None
    meta: Mapping[str, Any] | None = None


class Embedded(_Block, frozen=True, tag="resource", rename=_CAMEL):
    resource: TextContents | BlobContents


Content = Text | Image | Audio | ResourceLink | Embedded
