"""What an agent's stream tells, in the same few words for every CLI."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from kumihimo.domain.execution import FailureReason
from kumihimo.domain.observation import Usage

UNUSED = Usage()


class SessionOpened(Struct, frozen=True):
    """The CLI's own conversation, by which it can be resumed."""

    session: str
    model: str | None = None


class ModelNamed(Struct, frozen=True):
    """The model, where it is told before the conversation is."""

    model: str


class Said(Struct, frozen=True):
    """What the agent says. A `partial` one goes on where the one before stopped."""

    text: str
    partial: bool = False


class ToolCalled(Struct, frozen=True):
    """A call that the agent attempts; `arguments` is a short rendering of them, never the whole."""

    call: str
    tool: str
    arguments: str = ""


class ToolAnswered(Struct, frozen=True):
    call: str
    ok: bool


class FileChanged(Struct, frozen=True):
    """A file that the stream proves to be written: the tool said so, and no error followed. `guessed` where the stream
    does not tell a new file from a changed one: `created` is then the better guess, to be corrected by who has the folder."""

    path: str
    created: bool
    guessed: bool = False


class Used(Struct, frozen=True):
    """What was used: in this run so far, and in the whole conversation where that one was resumed."""

    run: Usage
    conversation: Usage


class Warned(Struct, frozen=True):
    """Something went wrong and the agent goes on."""

    message: str


class Finished(Struct, frozen=True):
    """The terminal event of success."""

    text: str | None = None


class Failed(Struct, frozen=True):
    """The terminal event of failure. A rate limit ends at `reset_at`, or `reset_after` seconds from now, where the CLI
    says it; never both."""

    reason: FailureReason
    message: str
    reset_at: datetime | None = None
    reset_after: float | None = None


Happening = (
    SessionOpened | ModelNamed | Said | ToolCalled | ToolAnswered | FileChanged | Used | Warned | Finished | Failed
)
