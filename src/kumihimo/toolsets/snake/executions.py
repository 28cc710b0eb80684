"""Records of executions, with camelCase entries, and what says how one began and ended."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from kumihimo.domain.execution import Execution
from kumihimo.settings import Language
from kumihimo.store.paging import Page
from kumihimo.toolsets.snake.answer import Answer

# What a record says of a run: it knows running, completed, failed, and `error` for an end that nobody saw.
_WORDS = {
    "queued": "running",
    "starting": "running",
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "failed",
    "timed_out": "error",
    "lost": "error",
}


class LogShape(Struct, frozen=True, kw_only=True, rename="camel"):
    execution_id: str
    task_id: str | None
    agent_id: str
    status: str
    exit_code: int | None
    duration_seconds: float | None
    started_at: datetime | None
    completed_at: datetime | None
    log_file_path: str | UnsetType | None = UNSET


class LogAnswer(Answer, frozen=True):
    log: LogShape


class LogsAnswer(Answer, frozen=True):
    logs: list[LogShape]
    next_cursor: str | UnsetType = UNSET


class StartedAnswer(Answer, frozen=True):
    execution_id: str
    started_at: datetime | None


class CompletedAnswer(Answer, frozen=True):
    execution_id: str
    completed_at: datetime | None
    status: str


class RegisteredAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    success: bool = True
    registered: bool = True
    agent_id: str


def shape(it: Execution, *, whole: bool = False) -> LogShape:
    return LogShape(
        execution_id=it.id,
        task_id=it.task_id,
        agent_id=it.agent_id,
        status=_WORDS[it.status],
        exit_code=it.exit_code,
        duration_seconds=None if it.duration_ms is None else it.duration_ms / 1000,
        started_at=it.started_at,
        completed_at=it.ended_at,
        log_file_path=it.log_path if whole else UNSET,
    )


def one(it: Execution, _: Language) -> LogAnswer:
    return LogAnswer(log=shape(it, whole=True))


def page(found: Page[Execution], _: Language) -> LogsAnswer:
    return LogsAnswer(logs=[shape(it) for it in found.items], next_cursor=found.next_cursor or UNSET)


def started(it: Execution, _: Language) -> StartedAnswer:
    return StartedAnswer(execution_id=it.id, started_at=it.started_at)


def completed(it: Execution, _: Language) -> CompletedAnswer:
    return CompletedAnswer(execution_id=it.id, completed_at=it.ended_at, status=_WORDS[it.status])


def registered(it: Execution, _: Language) -> RegisteredAnswer:
    return RegisteredAnswer(agent_id=it.id)
