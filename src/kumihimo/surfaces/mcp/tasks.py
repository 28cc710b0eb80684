"""Waits as tasks of MCP. The handle says what is waited for, so any door can answer for it, also after the death of this one."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct

from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.messages import render
from kumihimo.operations.operation import Caller
from kumihimo.operations.runs import Waited, WaitForRuns, WaitMode
from kumihimo.operations.runs import wait as wait_operation
from kumihimo.services.board import Board
from kumihimo.surfaces.mcp.door import Door
from kumihimo.wire.task import Task
from kumihimo.wire.tool import encode_task_result

_PREFIX = "wait-"
_POLL_MS = 1_000
# Nobody waits longer; a handle takes no greater number.
_LONGEST_MS = 2**53
# The moments that there are: a handle that nobody gave may name another.
_LAST_MS = int(datetime.max.replace(tzinfo=UTC).timestamp() * 1000) - 1


class _Handle(Struct, frozen=True, array_like=True):
    runs: list[str]
    mode: WaitMode
    timeout_ms: int | None
    begun: int


def handle_of(given: Any, now: datetime) -> Task:
    """A task for a wait that was asked for just now."""
    timeout_ms = None if given.timeout_ms is None else min(given.timeout_ms, _LONGEST_MS)
    handle = _Handle(given.agentIds, given.mode, timeout_ms, int(now.timestamp() * 1000))
    encoded = base64.urlsafe_b64encode(msgspec.msgpack.encode(handle)).decode().rstrip("=")
    return _task(_PREFIX + encoded, handle)


class Waits:
    """The tasks of one door: nothing is kept, everything is looked up."""

    def __init__(self, door: Door, caller_of: Any) -> None:
        self._door = door
        self._caller_of = caller_of

    def get(self, caller: Any, task_id: str) -> Any:
        handle = _read(task_id)
        if handle is None:
            return None
        return self._door.perform_reading(lambda board: self._state(board, caller, task_id, handle))

    def update(self, caller: Any, task_id: str, responses: Mapping[str, Raw]) -> bool:  # noqa: ARG002 - nothing is asked
        return _read(task_id) is not None

    def cancel(self, caller: Any, task_id: str) -> bool:  # noqa: ARG002 - to stop waiting stops nothing else
        return _read(task_id) is not None

    def _state(self, board: Board, client: Any, task_id: str, handle: _Handle) -> Task:
        arguments = WaitForRuns(runs=handle.runs, mode=handle.mode, timeout_ms=handle.timeout_ms)
        try:
            caller: Caller = self._caller_of(board, client)
            call = self._door.call(board, caller)
            answer = wait_operation.handler(call, arguments)
            waited_ms = int(board.clock().timestamp() * 1000) - handle.begun
            late = handle.timeout_ms is not None and waited_ms > handle.timeout_ms
            if answer is None and late:
                answer = wait_operation.in_vain(call, arguments, False)
        except KumihimoError as error:
            return _task(
                task_id, handle, "failed", error={"code": -32000, "message": render(error, self._door.language)}
            )
        if answer is None:
            return _task(task_id, handle)
        return _task(task_id, handle, "completed", result=_result(answer))


def _result(answer: Waited) -> Raw:
    from kumihimo.toolsets.camel.runs import waited

    return encode_task_result(Raw(msgspec.json.encode(waited(answer))))


def _task(task_id: str, handle: _Handle, status: Any = "working", **fields: Any) -> Task:
    moment = datetime.fromtimestamp(handle.begun / 1000, UTC).isoformat()
    return Task(
        task_id=task_id,
        status=status,
        created_at=moment,
        last_updated_at=datetime.now(UTC).isoformat(),
        poll_interval_ms=_POLL_MS,
        **fields,
    )


def _read(task_id: str) -> _Handle | None:
    if not task_id.startswith(_PREFIX):
        return None
    text = task_id.removeprefix(_PREFIX)
    try:
        found = msgspec.msgpack.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Handle)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return None
    return found if 0 <= found.begun <= _LAST_MS else None
