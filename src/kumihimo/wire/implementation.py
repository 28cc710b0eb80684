"""Who speaks: the name, version and looks of a server or a client."""

from typing import Literal

from msgspec import Struct


class Icon(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A picture for a server, tool, resource or prompt; `src` is an https or a data URI."""

    src: str
    mime_type: str | None = None
    sizes: tuple[str, ...] = ()
    theme: Literal["light", "dark"] | None = None


class Implementation(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A server or a client as it names itself. What a client says here is not verified by anyone."""

    name: str
    version: str = ""
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: tuple[Icon, ...] = ()
