"""A configuration file as a value that can be read and a text that can be edited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

from msgspec import Struct

KeyPath = tuple[str, ...]


class Document(Protocol):
    """Edits answer a new document; everything but what was asked for keeps its bytes."""

    @property
    def text(self) -> str: ...

    @property
    def value(self) -> Any: ...

    def line_of(self, path: KeyPath) -> int:
        """The line on which the key stands."""
        ...

    def put(self, path: KeyPath, value: Any) -> Self:
        """The value under that path, replaced or added; what is missing above it is made."""
        ...

    def remove(self, path: KeyPath) -> Self: ...


class Form(Struct, frozen=True):
    """One format: how a text is read, and how an entry looks that stands alone. Reading raises `Unreadable`."""

    read: Callable[[str], Document]
    snippet: Callable[[KeyPath, dict[str, Any]], str]


def newline_of(text: str) -> str:
    """The line ending that the text has: that of its first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def indentation_at(text: str, offset: int) -> str:
    """The blanks with which the line of this offset begins."""
    start = text.rfind("\n", 0, offset) + 1
    end = start
    while end < len(text) and text[end] in " \t":
        end += 1
    return text[start:end]
