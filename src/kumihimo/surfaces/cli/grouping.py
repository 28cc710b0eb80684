"""What the verbs of groups share: carry an operation out, show what it began, and follow that to its end where asked."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from kumihimo.operations.operation import Call, Operation
from kumihimo.operations.runs import WaitForRuns
from kumihimo.operations.runs import wait as wait_operation
from kumihimo.surfaces.cli import drawing
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.invocation import call_of
from kumihimo.surfaces.cli.program import settings_of
from kumihimo.surfaces.cli.waiting import wait as wait_for
from kumihimo.toolsets.camel.presenting import present

_COLUMNS = ("agentId", "status", "role", "model")
_ENDED = ("agentId", "status", "duration_ms")


def show(flags: dict[str, Any], operation: Operation[Any, Any], arguments: Any, *, wait: bool) -> int:
    settings = settings_of(flags)
    call = call_of(settings)
    try:
        begun: dict[str, Any] = msgspec.to_builtins(present(operation.answer, operation(call, arguments)))
        if not wait:
            _print(begun, begun["agents"], _COLUMNS, flags)
            return DONE
        if not flags.get("json"):
            drawing.table(begun["agents"], _COLUMNS, settings.language)
        return await_runs(call, [agent["agentId"] for agent in begun["agents"]], None, flags)
    finally:
        call.close()


def await_runs(call: Call, runs: list[str], timeout_ms: int | None, flags: dict[str, Any]) -> int:
    """Wait for all of them. One that failed, or a wait that was in vain, is a failure of the command."""
    waited = wait_for(wait_operation, call, WaitForRuns(runs=runs, timeout_ms=timeout_ms))
    answer: dict[str, Any] = msgspec.to_builtins(present(wait_operation.answer, waited))
    pending: list[dict[str, Any]] = answer["pending"]
    _print(answer, [*answer["completed"], *pending], _ENDED, flags)
    good = not pending and all(sight.execution.succeeded for sight in waited.completed)
    return DONE if good else FAILED


def _print(answer: Any, rows: list[dict[str, Any]], columns: tuple[str, ...], flags: dict[str, Any]) -> None:
    if flags.get("json"):
        sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    elif rows:
        drawing.table(rows, columns, flags["language"])
    else:
        drawing.nothing(flags["language"])
