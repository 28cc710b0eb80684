"""What a server may ask of a client while it serves a request: a form, a page to open, a completion, its roots.

Revisions with a handshake send each as a request to the client. In 2026-07-28 they are put into an
`input_required` result, and the client sends the original request again with the answers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw, Struct

from kumihimo.wire.content import Content, Role
from kumihimo.wire.errors import InvalidParams
from kumihimo.wire.revision import Revision

STATE_SECONDS: Final = 3600
"""How long the answers to earlier questions may be sent back to us."""


class Elicit(Struct, frozen=True):
    """A form for the person at the client. `schema` is an object of primitive properties."""

    message: str
    schema: Mapping[str, Any]

    method = "elicitation/create"
    capability = "elicitation"

    def params(self, revision: Revision) -> dict[str, Any]:
        shown: dict[str, Any] = {"message": self.message, "requestedSchema": self.schema}
        return {"mode": "form"} | shown if revision.icons else shown


class ElicitUrl(Struct, frozen=True):
    """A page that the person opens; `elicitation_id` names it in 2025-11-25."""

    message: str
    url: str
    elicitation_id: str

    method = "elicitation/create"
    capability = "elicitation"

    def params(self, revision: Revision) -> dict[str, Any]:
        shown: dict[str, Any] = {"mode": "url", "message": self.message, "url": self.url}
        return shown | {"elicitationId": self.elicitation_id} if revision.handshake else shown


class SampleMessage(Struct, frozen=True):
    role: Role
    content: Content


class Sample(Struct, frozen=True):
    """A completion by the client's model. `options` are further parameters, named as the protocol has them."""

    messages: Sequence[SampleMessage]
    max_tokens: int
    system_prompt: str | None = None
    options: Mapping[str, Any] = {}

    method = "sampling/createMessage"
    capability = "sampling"

    def params(self, revision: Revision) -> dict[str, Any]:  # noqa: ARG002 - the same in every revision
        shown: dict[str, Any] = {"messages": self.messages, "maxTokens": self.max_tokens}
        if self.system_prompt is not None:
            shown["systemPrompt"] = self.system_prompt
        return shown | dict(self.options)


class Roots(Struct, frozen=True):
    """The folders that the client works in."""

    method = "roots/list"
    capability = "roots"

    def params(self, revision: Revision) -> dict[str, Any]:  # noqa: ARG002 - the same in every revision
        return {}


class HandedOn(Struct, frozen=True):
    """What another server wants to know, as it said it."""

    method: str
    said: Any

    @property
    def capability(self) -> str:
        return CAPABILITIES[self.method]

    def params(self, revision: Revision) -> dict[str, Any]:  # noqa: ARG002 - it is not ours to change
        return self.said


CAPABILITIES: Final = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}

Question = Elicit | ElicitUrl | Sample | Roots | HandedOn


class ElicitAnswer(Struct, frozen=True):
    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None


class SampleAnswer(Struct, frozen=True, rename="camel"):
    """`content` is one block or a list of them, as the client's model gave it."""

    role: Role
    content: Any
    model: str = ""
    stop_reason: str | None = None


class Root(Struct, frozen=True):
    uri: str
    name: str | None = None


class RootsAnswer(Struct, frozen=True):
    roots: tuple[Root, ...]


Answer = ElicitAnswer | SampleAnswer | RootsAnswer


def decode_answer(question: Question, raw: Raw) -> Answer:
    """The answer to a question, or InvalidParams where the client sent something else."""
    kind: type[ElicitAnswer | SampleAnswer | RootsAnswer] = ElicitAnswer
    if isinstance(question, Sample):
        kind = SampleAnswer
    elif isinstance(question, Roots):
        kind = RootsAnswer
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidParams(f"Invalid answer to {question.method}: {error}") from None


class InputRequired(Exception):
    """Ends a stateless request: its result is these questions, and the state that is to come back with the answers."""

    def __init__(self, questions: Mapping[str, Question], state: str | None = None) -> None:
        super().__init__(", ".join(questions))
        self.questions = questions
        self.state = state


class RequestState(Struct, frozen=True):
    """What travels through the client between two rounds, signed: the answers so far and what they belong to."""

    request: str
    subject: str
    expires: int
    answers: dict[str, Raw] = {}


def encode_input_required(required: InputRequired, revision: Revision) -> dict[str, Any]:
    """The fields of an `input_required` result or task."""
    shown: dict[str, Any] = {"inputRequests": input_requests(required.questions, revision)}
    if required.state is not None:
        shown["requestState"] = required.state
    return shown


def input_requests(questions: Mapping[str, Question], revision: Revision) -> dict[str, Any]:
    """Questions as they stand in an `input_required` result, and in a task that waits for input."""
    return {
        key: {"method": question.method, "params": question.params(revision)} for key, question in questions.items()
    }
