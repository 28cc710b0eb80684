"""What comes from the server: answers to those who wait for them, progress, notifications, and questions of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from kumihimo.wire.client.call import Call, OnProgress, OnRequest
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


class Dialogue:
    """The calls under way of one session. `noise` counts what could not be understood or was asked for by nobody."""

    def __init__(self, on_notification: OnNotification | None = None, on_request: OnRequest | None = None) -> None:
        self.calls: dict[int, Call] = {}
        self.noise = 0
        self._last = 0
        self._on_notification = on_notification
        self.questions = Questions(on_request)

    def next_number(self) -> int:
        """What the next call is known by."""
        self._last += 1
        return self._last

    def open(self, method: str, on_progress: OnProgress | None = None, on_input: OnRequest | None = None) -> Call:
        number = self.next_number()
        call = self.calls[number] = Call(number, method, on_progress, on_input)
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
        try:
            incoming = _decode(data)
        except UNREADABLE:
            self._hear_batch(data, reply, among)
            return
        if incoming.method is not UNSET:
            self._hear_method(incoming, reply, among)
            return
        call = self._call(incoming.id)
        if call is None or not (incoming.result or incoming.error):
            self.noise += 1
        elif incoming.error:
            call.fail(error_of(incoming.error))
        else:
            call.settle(incoming.result)

    def _call(self, number: int | str | UnsetType | None) -> Call | None:
        """Ours are numbers; some servers give them back as text."""
        known = int(number) if isinstance(number, str) and number.isdecimal() and len(number) < 20 else number
        return self.calls.get(known) if isinstance(known, int) else None

    def hear_noise(self) -> None:
        """Something came that is no message."""
        self.noise += 1

    def fail_all(self, error: Callable[[Call], Exception]) -> None:
        for call in tuple(self.calls.values()):
            call.fail(error(call))

    def _hear_batch(self, data: bytes | Raw, reply: Reply, among: Iterable[Call] | None) -> None:
        """2025-03-26 has batches of answers; anything else that is no message is noise."""
        try:
            members = _decode_batch(data)
        except UNREADABLE:
            self.noise += 1
            return
        for member in members:
            # A batch in a batch is no message.
            if bytes(memoryview(member)[:1]) == b"{":
                self.hear(member, reply, among)
            else:
                self.noise += 1

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
        if call is not None and call.on_progress is not None and not call.answer.done():
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
        return RpcError(0, "the server answered a malformed error")
    return RpcError(told.code, told.message, told.data)
