"""Prompts: their definition, and the messages that one of them makes."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kumihimo.wire.content import Content, Role
from kumihimo.wire.implementation import Icon
from kumihimo.wire.revision import Revision

if TYPE_CHECKING:
    from kumihimo.wire.request import Request


class PromptArgument(Struct, frozen=True, omit_defaults=True):
    name: str
    description: str | None = None
    required: bool = False


class PromptMessage(Struct, frozen=True):
    role: Role
    content: Content


class PromptResult(Struct, omit_defaults=True):
    messages: Sequence[PromptMessage]
    description: str | None = None


class Prompt(Struct, frozen=True, kw_only=True, eq=False):
    """A prompt; `handler(request, arguments)` returns a PromptResult, a list of messages, or a string (the user's)."""

    name: str
    handler: "Callable[[Request, dict[str, str]], Any]"
    title: str | None = None
    description: str | None = None
    arguments: tuple[PromptArgument, ...] = ()
    icons: tuple[Icon, ...] = ()
    meta: Mapping[str, Any] | None = None

    def definition(self, revision: Revision) -> dict[str, Any]:
        shown: dict[str, Any] = {"name": self.name}
        if revision.structured and self.title is not None:
            shown["title"] = self.title
        if self.description is not None:
            shown["description"] = self.description
        if self.arguments:
            shown["arguments"] = self.arguments
        if revision.icons and self.icons:
            shown["icons"] = self.icons
        if revision.structured and self.meta:
            shown["_meta"] = self.meta
        return shown
