"""Overdue: the two clocks of a run, its whole time and its silence."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from kumihimo.supervisor.watched_run import WatchedRun


def overdue(run: WatchedRun, silence_ms: int, now: datetime) -> Literal["timed_out", "idle"] | None:
    """Why a run has to end now, where it has to."""
    execution, started = run.execution, run.execution.started_at
    if started is None:
        return None
    if execution.timeout_ms and now - started > timedelta(milliseconds=execution.timeout_ms):
        return "timed_out"
    if not silence_ms or now.timestamp() < run.heard_until:
        return None
    try:
        silent_since = max(run.silent_since(), started.timestamp())
    except FileNotFoundError:
        return None
    # Whatever it writes until then, its silence is not over its time before.
    run.heard_until = silent_since + silence_ms / 1000
    return "idle" if now.timestamp() > run.heard_until else None
