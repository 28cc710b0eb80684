"""What a call through the hub answers: success with data, or an error; and how it came about."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
from msgspec import Raw, Struct

from kumihimo.hub.errors import Code, HubError
from kumihimo.wire.jsonrpc import UNREADABLE


class CallError(Struct, frozen=True, omit_defaults=True):
    code: Code
    message: str
    retryable: bool
    details: dict[str, Any] | None = None


class Metadata(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`execution_time` is in milliseconds; `attempts` counts the times that it was tried, 0 where it was not."""

    execution_time: float
    server: str | None
    attempts: int
    cached: bool
    tokens_used: int | None = None


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`data` is JSON as it came where it is Raw: whoever passes it on need not look into it."""

    success: bool
    data: Any = None
    error: CallError | None = None
    metadata: Metadata

    def decoded(self) -> Answer:
        """The same with its data as Python values. A failure where they can't be had: there are numbers that only JSON has."""
        if not isinstance(self.data, Raw):
            return self
        try:
            return msgspec.structs.replace(self, data=msgspec.json.decode(self.data))
        except UNREADABLE as error:
            reason = f"what the server answered can't be read here: {error}"
            return failed(HubError(Code.EXECUTION_FAILED, reason, delivered=True), self.metadata)


def succeeded(data: Any, metadata: Metadata) -> Answer:
    return Answer(success=True, data=data, metadata=metadata)


def failed(error: HubError, metadata: Metadata) -> Answer:
    told = CallError(error.code, error.message, error.retryable, error.details)
    return Answer(success=False, error=told, metadata=metadata)


class ToolReply(Struct, rename="camel"):
    """What a server answered to a call, as far as it is looked into."""

    content: Raw = msgspec.Raw(b"[]")
    structured_content: Raw = msgspec.Raw(b"")
    is_error: bool = False
    result_type: Any = None
    ttl_ms: Any = None
    cache_scope: Any = None

    @property
    def data(self) -> Raw:
        return self.structured_content if bytes(self.structured_content) not in (b"", b"null") else self.content

    @property
    def seconds(self) -> float | None:
        """How long its server says that it is good. A time that is none is not a reason to refuse the answer."""
        return self.ttl_ms / 1000 if isinstance(self.ttl_ms, int | float) and self.ttl_ms is not True else None

    @property
    def text(self) -> str:
        """Its blocks of text, for a message. Anything else in it stays with the details."""
        try:
            blocks = msgspec.json.decode(self.content, type=list[_Block])
        except msgspec.DecodeError:
            return ""
        return "\n".join(block.text for block in blocks if block.type == "text")


class _Block(Struct):
    type: str = ""
    text: str = ""


_decode = msgspec.json.Decoder(ToolReply).decode


def reply_of(raw: Raw, tool: str, server: str) -> ToolReply:
    """HubError where it is no answer, or the tool itself says that it failed."""
    try:
        reply = _decode(raw)
    except UNREADABLE as error:
        raise HubError(
            Code.EXECUTION_FAILED,
            f"{tool}: what the server answered is no answer of a tool: {error}",
            {"server": server},
            unclear=True,
        ) from error
    if reply.result_type not in (None, "complete"):
        raise HubError(
            Code.EXECUTION_FAILED,
            f"{tool}: the server answered '{reply.result_type}': it asks for what nobody can tell it here",
            {"server": server},
            delivered=True,
        )
    if reply.is_error:
        details: dict[str, Any] = {"server": server}
        with contextlib.suppress(*UNREADABLE):
            # What can't be read is left out: that it failed is said all the same.
            details["content"] = msgspec.json.decode(reply.content)
        raise HubError(Code.EXECUTION_FAILED, reply.text or f"{tool} failed", details, delivered=True)
    return reply
