"""What comes from the server: answers to those who wait for them, progress, notifications, and questions of its own."""

from __future__ import annotations

import asyncio
import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from kumihimo.wire.client.awaited import Awaited
from kumihimo.wire.client.beyond_measure import answered_call
from kumihimo.wire.client.call import Call, OnProgress, OnRequest
from kumihimo.wire.client.errors import BadAnswer
from kumihimo.wire.client.lines import END_BYTES
from kumihimo.wire.client.questions import Questions, Reply
from kumihimo.wire.errors import RpcError
from kumihimo.wire.jsonrpc import NO_RAW, SUBSCRIPTION_ID, UNREADABLE

OnNotification = Callable[[str, Any], None]


class _Incoming(Struct, gc=False):
    method: str | UnsetType = UNSET
    id: int | str | UnsetType | None = UNSET
    params: Raw = NO_RAW
    result: Raw = NO_RAW
    error: Raw = NO_RAW


class _Told(Struct, gc=False):
    code: int
    message: str = ""
    data: Any = None


class _Progress(Struct, rename="camel"):
    progress_token: int | str
    progress: float
    total: float | None = None
    message: str | None = None


class _SubscriptionMeta(Struct, rename={"id": SUBSCRIPTION_ID}):
    id: int | str


class _Acknowledged(Struct, rename={"meta": "_meta"}):
    meta: _SubscriptionMeta


class _Withdrawn(Struct, rename="camel"):
    request_id: int | str


_decode = msgspec.json.Decoder(_Incoming).decode
_decode_batch = msgspec.json.Decoder(list[Raw]).decode
_decode_error = msgspec.json.Decoder(_Told).decode
_decode_progress = msgspec.json.Decoder(_Progress).decode
_decode_acknowledged = msgspec.json.Decoder(_Acknowledged).decode
_decode_withdrawn = msgspec.json.Decoder(_Withdrawn).decode
_decode_any = msgspec.json.Decoder().decode
_MOST_TOLD = 300
# Of what can't be read, or is a batch, no more is looked at once again: that is slow, and all servers would wait for it.
_MOST_LOOKED_AT = 1024 * 1024
# How a message can begin, or a text that is almost one.
_BEGINNINGS = (b"{", b"[", BOM_UTF8, b" ", b"\t", b"\r", b"\n")


class Dialogue:
    """The calls under way of one session. `noise` counts what could not be understood or was asked for by nobody."""

    def __init__(self, on_notification: OnNotification | None = None, on_request: OnRequest | None = None) -> None:
        self.calls: dict[int, Call] = {}
        self.noise = 0
        # Whether the revision that was agreed upon has them.
        self.batches = False
        self._last = 0
        self._on_notification = on_notification
        self.questions = Questions(on_request)

    def next_number(self) -> int:
        """What the next call is known by."""
        self._last += 1
        return self._last

    def open(self, method: str, on_progress: OnProgress | None = None, on_input: OnRequest | None = None) -> Awaited:
        number = self.next_number()
        call = self.calls[number] = Awaited(number, method, on_progress, on_input)
        return call

    def close(self, call: Call) -> None:
        self.calls.pop(call.id, None)
        if call.on_input is not None:
            self.questions.drop(call)

    async def end(self) -> None:
        """Nobody is asked any more."""
        await self.questions.end()

    def hear(self, data: bytes | Raw, reply: Reply, among: Iterable[Call] | None = None) -> None:
        """Take one message in. Whatever it is, the session goes on. `among` are the calls that a question which comes this
        way can belong to: all, where everything comes one way."""
        if not isinstance(data, Raw) and not data.startswith(_BEGINNINGS):
            # Of what is no message there may be much, a log for example: it is not worth three attempts.
            self.noise += 1
            return
        try:
            if not isinstance(data, Raw) and not data.isascii():
                # What is passed on unread would reach somebody who can't read it.
                data.decode()
            incoming = _decode(data)
        except UNREADABLE as unreadable:
            self._hear_batch(data, reply, among, str(unreadable))
            return
        if incoming.method is not UNSET:
            self._hear_method(incoming, reply, among)
            return
        call = self._call(incoming.id)
        if call is None:
            self.noise += 1
        elif incoming.error and not (incoming.result and bytes(incoming.error) == b"null"):
            call.fail(error_of(incoming.error))
        elif incoming.result:
            call.settle(incoming.result)
        else:
            self._hear_no_answer(call, "it has neither a result nor an error")

    def _call(self, number: int | str | UnsetType | None) -> Call | None:
        """Ours are numbers; some servers give them back as text."""
        known = int(number) if isinstance(number, str) and number.isdecimal() and len(number) < 20 else number
        return self.calls.get(known) if isinstance(known, int) else None

    def hear_too_long(self, beginning: bytes, end: bytes, most_bytes: int) -> None:
        """Something came that is too long to be held: whose answer it is can still be seen."""
        call = self._call(answered_call(beginning, end))
        if call is None:
            self.noise += 1
        else:
            self._hear_no_answer(call, f"it has more than {most_bytes} bytes")

    def fail_all(self, error: Callable[[Call], Exception]) -> None:
        for call in tuple(self.calls.values()):
            call.fail(error(call))

    def _hear_batch(self, data: bytes | Raw, reply: Reply, among: Iterable[Call] | None, unreadable: str) -> None:
        """2025-03-26 has batches of answers; anything else that is no message is noise, or an answer that can't be read."""
        if not isinstance(data, Raw) and data.startswith(BOM_UTF8) and not data.startswith(BOM_UTF8 * 2):
            self.hear(data[len(BOM_UTF8) :], reply, among)
            return
        members = self._members(data)
        if members is None:
            call = self._call(_identity_of(bytes(data)))
            if call is None:
                self.noise += 1
            else:
                self._hear_no_answer(call, unreadable)
            return
        for member in members:
            # A batch in a batch is no message.
            if bytes(memoryview(member)[:1]) == b"{":
                self.hear(member, reply, among)
            else:
                self.noise += 1

    def _members(self, data: bytes | Raw) -> list[Raw] | None:
        """None where it is no batch, or can't be one: a member of one is none. One message in brackets is read everywhere."""
        if isinstance(data, Raw) or len(data) > _MOST_LOOKED_AT:
            return None
        try:
            data.decode()
            members = _decode_batch(data)
        except UNREADABLE:
            return None
        return members if self.batches or len(members) == 1 else None

    def _hear_no_answer(self, call: Call, why: str) -> None:
        """Nobody need wait for another answer to this call."""
        self.noise += 1
        call.fail(BadAnswer(f"what the server answered is no answer: {why}"))

    def _hear_method(self, incoming: _Incoming, reply: Reply, among: Iterable[Call] | None) -> None:
        method = str(incoming.method)
        if isinstance(incoming.id, int | str):
            calls = self.calls.values() if among is None else among
            self.questions.hear(method, incoming.id, incoming.params, reply, calls)
        elif method == "notifications/progress":
            self._hear_progress(incoming.params)
        elif method == "notifications/cancelled":
            self._hear_withdrawn(incoming.params)
        else:
            if method == "notifications/subscriptions/acknowledged":
                self._hear_acknowledged(incoming.params)
            self._pass_on(method, incoming.params)

    def _pass_on(self, method: str, given: Raw) -> None:
        if self._on_notification is not None:
            try:
                params = _decode_any(given) if given else None
            except UNREADABLE:
                self.noise += 1
                return
            # A fault of whoever hears it must not end the connection that it came by.
            asyncio.get_running_loop().call_soon(self._on_notification, method, params)

    def _hear_progress(self, params: Raw) -> None:
        try:
            told = _decode_progress(params)
        except UNREADABLE:
            self.noise += 1
            return
        call = self._call(told.progress_token)
        if call is not None and call.on_progress is not None and not call.over:
            asyncio.get_running_loop().call_soon(call.on_progress, told.progress, told.total, told.message)

    def _hear_acknowledged(self, params: Raw) -> None:
        try:
            call = self._call(_decode_acknowledged(params).meta.id)
        except UNREADABLE:
            self.noise += 1
            return
        if call is not None and call.on_ready is not None:
            asyncio.get_running_loop().call_soon(call.on_ready)

    def _hear_withdrawn(self, params: Raw) -> None:
        """A question of the server's; or the one call of ours that it may end so."""
        try:
            number = _decode_withdrawn(params).request_id
        except UNREADABLE:
            self.noise += 1
            return
        self.questions.withdraw(number)
        call = self._call(number)
        if call is not None and call.method == "subscriptions/listen":
            call.settle(Raw(b"{}"))


def error_of(raw: Raw | bytes) -> RpcError:
    """The error of an answer, as it was told."""
    try:
        told = _decode_error(raw)
    except UNREADABLE:
        told_instead = bytes(raw)[:_MOST_TOLD].decode("utf-8", "replace")
        return RpcError(0, f"the server answered a malformed error: {told_instead}")
    return RpcError(told.code, told.message, told.data)


def _identity_of(data: bytes) -> Any:
    """Which call an answer belongs to that is not quite JSON, or not quite UTF-8. None where that can't be known, or it is
    no answer."""
    try:
        told = json.loads(data.decode("utf-8", "replace")) if len(data) <= _MOST_LOOKED_AT else None
    except (ValueError, RecursionError):
        told = None
    if told is None:
        return answered_call(data[:END_BYTES], data[-END_BYTES:])
    if not isinstance(told, dict) or "method" in told:
        return None
    number: object = cast("dict[str, object]", told).get("id")
    if isinstance(number, float) and number.is_integer():
        return int(number)
    return None if isinstance(number, bool) else number
