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
    try:
        silent_since = max(run.silent_since(), started.timestamp())
    except FileNotFoundError:
        return None
    return "idle" if silence_ms and (now.timestamp() - silent_since) * 1000 > silence_ms else None
