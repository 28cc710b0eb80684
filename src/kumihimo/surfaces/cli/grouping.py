"""What the verbs of groups share: carry an operation out, show what it began, and follow that to its end where asked."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from kumihimo.operations.operation import Call, Operation
from kumihimo.operations.runs import WaitForRuns
from kumihimo.operations.runs import wait as wait_operation
from kumihimo.services.sights import Sight
from kumihimo.surfaces.cli import drawing
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.invocation import call_of
from kumihimo.surfaces.cli.program import settings_of
from kumihimo.surfaces.cli.waiting import wait as wait_for
from kumihimo.toolsets.camel.presenting import present
from kumihimo.toolsets.camel.runs import status_word

_COLUMNS = ("agentId", "status", "role", "model")
_ENDED = ("agentId", "role", "status", "seconds", "outcome")


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
    _print(answer, [_row(sight) for sight in (*waited.completed, *waited.pending)], _ENDED, flags)
    good = not waited.pending and all(sight.execution.succeeded for sight in waited.completed)
    return DONE if good else FAILED


def _row(sight: Sight) -> dict[str, Any]:
    """What came of a run, in one line: what it reported, why it failed, or its last words."""
    run, report = sight.execution, sight.execution.report
    outcome = report.summary if report else run.error or run.failure_reason or sight.seen.last_message
    return {
        "agentId": run.id,
        "role": sight.role,
        "status": status_word(run),
        "seconds": "-" if run.duration_ms is None else f"{run.duration_ms / 1000:.1f}",
        "outcome": (outcome or "").partition("\n")[0][:200],
    }


def _print(answer: Any, rows: list[dict[str, Any]], columns: tuple[str, ...], flags: dict[str, Any]) -> None:
    if flags.get("json"):
        sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    elif rows:
        drawing.table(rows, columns, flags["language"])
    else:
        drawing.nothing(flags["language"])
