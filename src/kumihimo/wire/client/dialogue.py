"""What comes from the server: answers to those who wait for them, progress, notifications, and questions of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from kumihimo.wire.client.call import Call, OnProgress
from kumihimo.wire.errors import InternalError, MethodNotFound, RpcError
from kumihimo.wire.jsonrpc import NO_RAW, encode_answer, encode_failure, encode_id

OnNotification = Callable[[str, Any], None]
OnRequest = Callable[[str, Any], Awaitable[Mapping[str, Any]]]
Reply = Callable[[bytes], object]

# What decoding can raise for bytes that are no message.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


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


_decode = msgspec.json.Decoder(_Incoming).decode
_decode_batch = msgspec.json.Decoder(list[Raw]).decode
_decode_error = msgspec.json.Decoder(_Told).decode
_decode_progress = msgspec.json.Decoder(_Progress).decode
_decode_any = msgspec.json.Decoder().decode


class Dialogue:
    """The calls under way of one session. `noise` counts what could not be understood or was asked for by nobody."""

    def __init__(self, on_notification: OnNotification | None = None, on_request: OnRequest | None = None) -> None:
        self.calls: dict[int, Call] = {}
        self.noise = 0
        self._last = 0
        self._on_notification = on_notification
        self._on_request = on_request
        self._answering: set[asyncio.Task[None]] = set()

    def open(self, method: str, on_progress: OnProgress | None = None) -> Call:
        self._last += 1
        call = self.calls[self._last] = Call(self._last, method, on_progress)
        return call

    def close(self, call: Call) -> None:
        self.calls.pop(call.id, None)

    def hear(self, data: bytes | Raw, reply: Reply) -> None:
        """Take one message in. Whatever it is, the session goes on."""
        try:
            incoming = _decode(data)
        except UNREADABLE:
            self._hear_batch(data, reply)
            return
        if incoming.method is not UNSET:
            self._hear_method(incoming, reply)
            return
        # Ours are numbers; some servers give them back as text.
        number = int(incoming.id) if isinstance(incoming.id, str) and incoming.id.isdecimal() else incoming.id
        call = self.calls.get(number) if isinstance(number, int) else None
        if call is None or not (incoming.result or incoming.error):
            self.noise += 1
        elif incoming.error:
            call.fail(error_of(incoming.error))
        else:
            call.settle(incoming.result)

    def fail_all(self, error: Callable[[Call], Exception]) -> None:
        for call in tuple(self.calls.values()):
            call.fail(error(call))

    def _hear_batch(self, data: bytes | Raw, reply: Reply) -> None:
        """2025-03-26 has batches of answers; anything else that is no message is noise."""
        try:
            members = _decode_batch(data)
        except UNREADABLE:
            self.noise += 1
            return
        for member in members:
            # A batch in a batch is no message.
            if bytes(memoryview(member)[:1]) == b"{":
                self.hear(member, reply)
            else:
                self.noise += 1

    def _hear_method(self, incoming: _Incoming, reply: Reply) -> None:
        method = str(incoming.method)
        if isinstance(incoming.id, int | str):
            self._answer(method, incoming.id, incoming.params, reply)
        elif method == "notifications/progress":
            self._hear_progress(incoming.params)
        elif self._on_notification is not None:
            try:
                params = _decode_any(incoming.params) if incoming.params else None
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
        call = self.calls.get(told.progress_token) if isinstance(told.progress_token, int) else None
        if call is not None and call.on_progress is not None and not call.answer.done():
            asyncio.get_running_loop().call_soon(call.on_progress, told.progress, told.total, told.message)

    def _answer(self, method: str, request_id: int | str, params: Raw, reply: Reply) -> None:
        """A ping is answered here; anything else is for whoever opened the session, if they take questions."""
        if method == "ping":
            reply(encode_answer(encode_id(request_id), b"{}"))
        elif self._on_request is None:
            reply(encode_failure(request_id, MethodNotFound(method)))
        else:
            task = asyncio.get_running_loop().create_task(
                self._ask(self._on_request, method, request_id, bytes(params), reply)
            )
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _ask(self, ask: OnRequest, method: str, request_id: int | str, params: bytes, reply: Reply) -> None:
        try:
            result = await ask(method, _decode_any(params) if params else None)
        except RpcError as error:
            reply(encode_failure(request_id, error))
        except BaseException:
            reply(encode_failure(request_id, InternalError()))
            raise
        else:
            reply(encode_answer(encode_id(request_id), msgspec.json.encode(result)))


def error_of(raw: Raw | bytes) -> RpcError:
    """The error of an answer, as it was told."""
    try:
        told = _decode_error(raw)
    except UNREADABLE:
        return RpcError(0, "the server answered a malformed error")
    return RpcError(told.code, told.message, told.data)
