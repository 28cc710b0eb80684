"""One request, as its handler sees it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET, Raw

from kumihimo.wire.errors import InvalidParams, InvalidRequest, MethodNotFound, MissingCapability
from kumihimo.wire.inputs import (
    CAPABILITIES,
    STATE_SECONDS,
    Answer,
    Elicit,
    ElicitAnswer,
    ElicitUrl,
    HandedOn,
    InputRequired,
    Question,
    RequestState,
    Roots,
    RootsAnswer,
    Sample,
    SampleAnswer,
    decode_answer,
)
from kumihimo.wire.jsonrpc import Params, encode, encode_notification
from kumihimo.wire.logging_level import SEVERITY, Level
from kumihimo.wire.task import EXTENSION

if TYPE_CHECKING:
    from kumihimo.wire.implementation import Implementation
    from kumihimo.wire.peer import Channel, Peer
    from kumihimo.wire.revision import Revision
    from kumihimo.wire.server import Server


class _Metadata(msgspec.Struct, frozen=True, rename={"meta": "_meta"}):
    meta: dict[str, Any] = {}


class _WithMetadata(msgspec.Struct):
    params: _Metadata = _Metadata()


_decode_metadata = msgspec.json.Decoder(_WithMetadata).decode


class Request:
    """A request and the way back to its client.

    A coroutine handler is cancelled (`asyncio.CancelledError`) when the client cancels the request or is gone.
    `progress`, `log`, `elicit`, `sample`, `roots` and `ask` are for coroutine handlers.
    """

    __slots__ = ("_answers", "_body", "_channel", "_peer", "_server", "id", "method", "params")

    def __init__(
        self,
        server: "Server",
        peer: "Peer",
        channel: "Channel",
        request_id: int | str,
        method: str,
        params: Params,
        body: bytes | Raw,
    ) -> None:
        self._server = server
        self._peer = peer
        self._channel = channel
        self._body = body
        self._answers: dict[str, Raw] | None = None
        self.id = request_id
        self.method = method
        self.params = params

    @property
    def server(self) -> "Server":
        return self._server

    @property
    def peer(self) -> "Peer":
        return self._peer

    @property
    def channel(self) -> "Channel":
        return self._channel

    @property
    def caller(self) -> Any:
        """Whatever `authenticate` made of the client, or what the stdio server was given."""
        return self._peer.caller

    @property
    def revision(self) -> "Revision":
        return self._peer.revision

    @property
    def client(self) -> "Implementation":
        return self._peer.client

    @property
    def capabilities(self) -> Mapping[str, Any]:
        return self._peer.capabilities

    @property
    def meta(self) -> Mapping[str, Any]:
        """All of `_meta`, e.g. `traceparent`."""
        return _decode_metadata(self._body).params.meta

    @property
    def accepts_tasks(self) -> bool:
        """Whether a tool may answer with a Task: a stateless client that declared the extension, and a task store."""
        return (
            self._server.tasks is not None and not self._peer.revision.handshake and self._peer.has_extension(EXTENSION)
        )

    @property
    def wants_progress(self) -> bool:
        meta = self.params.meta
        return meta is not None and meta.progress_token is not UNSET

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work is; nothing is sent to a client that gave no progress token."""
        meta = self.params.meta
        if meta is None or meta.progress_token is UNSET:
            return
        params: dict[str, Any] = {"progressToken": meta.progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and self.revision.annotations:
            params["message"] = message
        await self._channel.deliver(encode_notification("notifications/progress", params))

    async def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send a log message, if the client wants messages of this level."""
        if SEVERITY[level] < self._peer.memory.level:
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        await self._channel.deliver(encode_notification("notifications/message", params))

    async def elicit(self, message: str, schema: Mapping[str, Any], *, key: str = "input") -> ElicitAnswer:
        """Ask the person at the client to fill a form. `key` tells this question from others of the same request."""
        return cast("ElicitAnswer", (await self.ask({key: Elicit(message, schema)}))[key])

    async def sample(self, question: Sample, *, key: str = "completion") -> SampleAnswer:
        """Ask the client's model for a completion."""
        return cast("SampleAnswer", (await self.ask({key: question}))[key])

    async def roots(self, *, key: str = "roots") -> RootsAnswer:
        return cast("RootsAnswer", (await self.ask({key: Roots()}))[key])

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Answer]:
        """Ask the client several things at once and wait for all answers.

        In a stateless revision the handler ends here the first time, and runs again from its start when the client
        comes back: questions of earlier rounds are then answered at once. So nothing may be done before the last
        question that must not be done twice.
        """
        for question in questions.values():
            self._require(question)
        if self.revision.handshake:
            return await self._ask_now(questions)
        answers = self._round()
        if any(key not in answers for key in questions):
            missing = {key: question for key, question in questions.items() if key not in answers}
            raise InputRequired(missing, self._state(answers))
        return {key: decode_answer(question, answers[key]) for key, question in questions.items()}

    @property
    def can_be_asked(self) -> dict[str, Any]:
        """What this client can be asked for, as its capabilities say it."""
        if len(memoryview(self._peer.capabilities_json)) <= len(b"{}"):
            return {}
        known = self._peer.capabilities
        return {name: known[name] for name in CAPABILITIES.values() if name in known}

    async def hand_on(self, method: str, params: Any) -> dict[str, Any]:
        """Ask the client what another server wants to know. MethodNotFound where it can't be asked for that.

        In a stateless revision this ends the handler, as `ask` does.
        """
        capability = CAPABILITIES.get(method)
        if capability is None or not self._peer.has(capability):
            raise MethodNotFound(method)
        if self.revision.handshake:
            return msgspec.json.decode(await self._peer.ask(self._channel, method, params or {}))
        key = f"{capability}-{_digest([method, params])}"
        answers = self._round()
        if key not in answers:
            raise InputRequired({key: HandedOn(method, params or {})}, self._state(answers))
        return msgspec.json.decode(answers[key])

    async def close_stream(self) -> None:
        """Let go of the connection that waits for this answer; a client of 2025-11-25 takes the stream up again.

        Does nothing where the transport or the revision has no such streams.
        """
        await self._channel.pause()

    def _require(self, question: Question) -> None:
        revision = self.revision
        known = question.capability != "elicitation" or revision.elicitation
        if isinstance(question, ElicitUrl):
            modes = self._peer.capabilities.get("elicitation")
            if not (revision.icons and isinstance(modes, dict) and "url" in modes):
                raise self._unable({"elicitation": {"url": {}}})
        elif not (known and self._peer.has(question.capability)):
            raise self._unable({question.capability: {}})

    def _unable(self, required: Mapping[str, Any]) -> InvalidRequest | MissingCapability:
        if self.revision.handshake:
            return InvalidRequest(f"the client does not support {', '.join(required)}")
        return MissingCapability(required)

    async def _ask_now(self, questions: Mapping[str, Question]) -> dict[str, Answer]:
        import asyncio

        raw = await asyncio.gather(
            *(
                self._peer.ask(self._channel, question.method, question.params(self.revision))
                for question in questions.values()
            )
        )
        return {
            key: decode_answer(question, answer) for (key, question), answer in zip(questions.items(), raw, strict=True)
        }

    def _round(self) -> dict[str, Raw]:
        """The answers that came with this request, and those that its state brings from earlier rounds."""
        if self._answers is None:
            given = self.params.input_responses
            self._answers = {} if given is UNSET else dict(given)
            if self.params.request_state is not UNSET:
                earlier = self.open_state(self.params.request_state)
                self._answers = dict(earlier.answers) | self._answers
        return self._answers

    def _state(self, answers: Mapping[str, Raw]) -> str:
        from kumihimo.wire.signature import sign

        state = RequestState(
            request=self._fingerprint(),
            subject=self._server.subject(self.caller),
            expires=int(self._server.clock()) + STATE_SECONDS,
            answers=dict(answers),
        )
        return sign(self._server.key, "request-state", encode(state))

    def open_state(self, token: str) -> RequestState:
        """The state of an earlier round; InvalidParams where it was altered, is old, or belongs to another request."""
        from kumihimo.wire.signature import verify

        payload = verify(self._server.key, "request-state", token)
        if payload is None:
            raise InvalidParams("requestState was not made by this server or was altered")
        state = msgspec.json.decode(payload, type=RequestState)
        if state.expires < self._server.clock():
            raise InvalidParams("requestState has expired: send the request again without it")
        if state.subject != self._server.subject(self.caller) or state.request != self._fingerprint():
            raise InvalidParams("requestState belongs to another request")
        return state

    def _fingerprint(self) -> str:
        """What makes this request the same request in its next round."""
        arguments: Any = msgspec.json.decode(self.params.arguments) if self.params.arguments else None
        named = [self.method, self.params.name, self.params.uri, arguments]
        named = [None if part is UNSET else part for part in named]
        return _digest(named)


def _digest(value: Any) -> str:
    import hashlib

    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:32]
