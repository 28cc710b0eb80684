"""What a server asks while a session lasts: sampling, elicitation, roots. And who is asked in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import Raw

from kumihimo.wire.client.background import Background
from kumihimo.wire.client.call import Call, OnRequest
from kumihimo.wire.errors import InternalError, InvalidParams, MethodNotFound, RpcError
from kumihimo.wire.jsonrpc import RequestId, encode, encode_answer, encode_failure, encode_id

Reply = Callable[[bytes], object]
# A server that asks more than that at once is not answered by anybody.
_MOST_OPEN = 64
_decode = msgspec.json.Decoder().decode


class _Open(NamedTuple):
    """A question that somebody thinks about."""

    id: RequestId
    call: Call | None
    reply: Reply


class Questions:
    """A question is for whoever made the call that it belongs to; else for `on_request`, if anybody; else for nobody."""

    def __init__(self, on_request: OnRequest | None = None) -> None:
        self.on_request = on_request
        self._open: dict[asyncio.Task[None], _Open] = {}
        self._withdrawn: set[asyncio.Task[None]] = set()
        self._background = Background()

    def hear(self, method: str, request_id: RequestId, params: Raw, reply: Reply, among: Iterable[Call]) -> None:
        """`among` are the calls that it can belong to."""
        if method == "ping":
            reply(encode_answer(encode_id(request_id), b"{}"))
            return
        callers = [call for call in among if call.on_input is not None and not call.over]
        call = callers[0] if len(callers) == 1 else None
        ask = call.on_input if call is not None else self.on_request
        if ask is None or len(callers) > 1:
            # Of several callers none is asked: it could be the wrong one.
            reply(encode_failure(request_id, MethodNotFound(method)))
            return
        if len(self._open) >= _MOST_OPEN:
            reply(encode_failure(request_id, InternalError("Too many questions at once")))
            return
        try:
            given = _decode(params) if params else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            reply(encode_failure(request_id, InvalidParams(f"Invalid params: {error}")))
            return
        task = self._background.start(self._ask(partial(ask, method, given), request_id, reply, call))
        self._open[task] = _Open(request_id, call, reply)
        task.add_done_callback(self._close)

    def withdraw(self, request_id: object) -> None:
        """The server does not want to know any more: it gets no answer."""
        for task, question in tuple(self._open.items()):
            if question.id == request_id:
                self._withdrawn.add(task)
                task.cancel()

    def drop(self, call: Call) -> None:
        """The call is over, and with it all that was asked because of it."""
        for task, question in tuple(self._open.items()):
            if question.call is call:
                task.cancel()

    async def end(self) -> None:
        await self._background.end()

    def _close(self, task: asyncio.Task[None]) -> None:
        question = self._open.pop(task)
        if task in self._withdrawn:
            self._withdrawn.discard(task)
        elif task.cancelled():
            question.reply(encode_failure(question.id, InternalError("Nobody answers this any more")))

    async def _ask(
        self, ask: Callable[[], Awaitable[object]], request_id: RequestId, reply: Reply, call: Call | None
    ) -> None:
        if call is not None:
            call.allowance.hold()
        try:
            answer = encode_answer(encode_id(request_id), encode(await ask()))
        except RpcError as error:
            answer = encode_failure(request_id, error)
        except Exception:
            reply(encode_failure(request_id, InternalError()))
            raise
        finally:
            if call is not None:
                call.allowance.release()
        reply(answer)
