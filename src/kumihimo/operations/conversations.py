"""A run, for who reads it: as a conversation, and what it complained of."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.domain.errors import ArtifactAway, ExecutionNotFound, InvalidValue
from kumihimo.engine.agents.telling import Entry
from kumihimo.operations.operation import Call, Shape, operation
from kumihimo.operations.runs import NameRun, ReadOutput
from kumihimo.services.conversations import errors as errors_of
from kumihimo.services.conversations import read


class ReadConversation(ReadOutput, frozen=True):
    limit: Annotated[int | None, Meta(description="How many lines of the agent at most (200).")] = None


class ConversationShape(Shape, frozen=True, omit_defaults=False):
    entries: list[Entry]
    next_cursor: str
    done: bool


class ErrorsShape(Shape, frozen=True, omit_defaults=False):
    text: str


@operation(
    "run.conversation", ReadConversation, ConversationShape, ExecutionNotFound, InvalidValue, ArtifactAway,
    reads=True, slow=True,
)  # fmt: skip
def conversation(call: Call, arguments: ReadConversation) -> ConversationShape:
    """A run as a conversation: what the agent said and did, with arguments, results and changes, some lines at a time."""
    found = read(call.board, arguments.run, arguments.cursor, arguments.limit)
    return ConversationShape(entries=found.entries, next_cursor=found.next_cursor, done=found.done)


@operation("run.errors", NameRun, ErrorsShape, ExecutionNotFound, ArtifactAway, reads=True, slow=True)
def errors(call: Call, arguments: NameRun) -> ErrorsShape:
    """The end of what a run that is over wrote to stderr."""
    return ErrorsShape(text=errors_of(call.board, arguments.run))


OPERATIONS = (conversation, errors)
