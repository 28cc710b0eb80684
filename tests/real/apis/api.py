"""What the APIs have in common: a conversation to read, a reply to write."""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

INPUT_TOKENS, OUTPUT_TOKENS = 100, 20
_PIECE = 24


@dataclass(frozen=True)
class Message:
    """`result` is what a tool answered."""

    role: Literal["user", "model", "result"]
    text: str


@dataclass(frozen=True)
class Tool:
    name: str
    # Codex puts the tools of an MCP server into a group of that name.
    group: str = ""


@dataclass
class Conversation:
    """A request, whatever API it came by."""

    model: str
    streamed: bool
    system: str = ""
    messages: list[Message] = field(default_factory=list[Message])
    tools: list[Tool] = field(default_factory=list[Tool])
    # The shape of the answer, where the request asks for JSON.
    schema: dict[str, Any] | None = None

    def add(self, role: Literal["user", "model", "result"], content: object) -> None:
        self.messages.append(Message(role, text_of(content)))

    def turns_after(self, place: int) -> int:
        """How often the model has spoken since that message. What stands together was said at once."""
        roles = [message.role for message in self.messages[place:]]
        return sum(role == "model" and before != "model" for before, role in zip(["", *roles], roles, strict=False))


@dataclass(frozen=True)
class ToolCall:
    name: str
    arguments: dict[str, Any]
    group: str = ""
    # A tool that takes text as it is, in place of arguments.
    freeform: str | None = None


@dataclass(frozen=True)
class Reply:
    text: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class Event:
    """One event of a stream. Not every API gives them names."""

    data: dict[str, Any] | str
    name: str | None = None

    def encoded(self) -> bytes:
        text = self.data if isinstance(self.data, str) else json.dumps(self.data)
        head = f"event: {self.name}\n" if self.name else ""
        return f"{head}data: {text}\n\n".encode()


class Api(ABC):
    name: ClassVar[str]

    @abstractmethod
    def serves(self, path: str) -> bool:
        """Whether a request to this path is for this API."""

    @abstractmethod
    def read(self, path: str, body: dict[str, Any]) -> Conversation: ...

    @abstractmethod
    def whole(self, conversation: Conversation, reply: Reply) -> dict[str, Any]:
        """The reply in one piece."""

    @abstractmethod
    def stream(self, conversation: Conversation, reply: Reply) -> Iterator[Event]:
        """The reply in many."""

    @abstractmethod
    def refusal(self, status: int, message: str) -> dict[str, Any]:
        """The body of an error."""


def text_of(content: object) -> str:
    """The words in a content: a string, a block, or a list of them."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    if isinstance(content, dict):
        for key in ("text", "content", "output", "parts", "result"):
            if key in content:
                return text_of(content[key])
        return json.dumps(content)
    return ""


def identity(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:20]


def pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
