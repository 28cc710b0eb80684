"""Work sessions and logins."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from kumihimo.domain.session import Session
from kumihimo.services.sessions import Login
from kumihimo.services.worksessions import WorkSession
from kumihimo.toolsets.camel.answer import Answer
from kumihimo.toolsets.camel.executions import status_word


class SessionAnswer(Answer, frozen=True):
    id: int | None
    execution_id: str
    task: int
    task_id: str
    task_status: str
    project_id: str
    agent: str
    agent_id: str
    status: str
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    signal: str | None
    dod_result: str | None
    artifacts: list[str]
    error: str | None
    branch: str | None
    worktree: str | None


class SessionsAnswer(Answer, frozen=True):
    sessions: list[SessionAnswer]
    next_cursor: str | UnsetType = UNSET


class LoginAnswer(Answer, frozen=True):
    id: str
    agent_id: str
    project_id: str
    status: str
    expires_at: datetime
    session_token: str | UnsetType = UNSET


def work_session(it: WorkSession) -> SessionAnswer:
    run = it.execution
    return SessionAnswer(
        id=run.number,
        execution_id=run.id,
        task=it.task.number,
        task_id=it.task.id,
        task_status=it.task.status,
        project_id=it.task.project_id,
        agent=it.agent.name,
        agent_id=run.agent_id,
        status=status_word(run),
        started_at=run.started_at,
        ended_at=run.ended_at,
        exit_code=run.exit_code,
        signal=run.signal,
        dod_result=run.dod_result,
        artifacts=list(run.artifacts),
        error=run.error,
        branch=run.branch,
        worktree=run.worktree,
    )


def login(it: Login) -> LoginAnswer:
    return replace(session(it.session), session_token=it.token)


def session(it: Session) -> LoginAnswer:
    return LoginAnswer(
        id=it.id, agent_id=it.agent_id, project_id=it.project_id, status=it.status, expires_at=it.expires_at
    )
