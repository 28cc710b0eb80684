"""Completion: proposals for the value of an argument of a prompt or of a resource template."""

from collections.abc import Sequence

from msgspec import Struct

MOST_VALUES = 100
"""The protocol's bound on one answer."""


class PromptReference(Struct, frozen=True, tag_field="type", tag="ref/prompt"):
    name: str


class ResourceReference(Struct, frozen=True, tag_field="type", tag="ref/resource"):
    uri: str


Reference = PromptReference | ResourceReference


class CompletionArgument(Struct, frozen=True):
    name: str
    value: str


class CompletionContext(Struct, frozen=True):
    """The arguments that are already filled in."""

    arguments: dict[str, str] = {}


class Completion(Struct):
    """Proposed values, best first; more than the protocol's 100 are cut off and counted."""

    values: Sequence[str] = ()
    total: int | None = None
    has_more: bool = False
