"""Sessions of agents: logging in, the task, the report, the end."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from kumihimo.domain.session import LIFETIME, Session
from kumihimo.operations.mine import Done, MaybeAssignment
from kumihimo.services.assignments import Assignment
from kumihimo.services.sessions import Login
from kumihimo.settings import Language
from kumihimo.toolsets.snake import contexts, handoffs
from kumihimo.toolsets.snake.answer import Answer, Shape
from kumihimo.toolsets.snake.contexts import ContextShape
from kumihimo.toolsets.snake.handoffs import HandoffShape
from kumihimo.toolsets.texts import words


class LoginAnswer(Answer, frozen=True):
    session_token: str
    expires_in: int
    agent_name: str
    project_name: str
    system_prompt: str
    instruction: str


class MyTaskShape(Shape, frozen=True):
    task_id: str
    title: str
    description: str
    working_directory: str
    context: ContextShape | None
    handoff: HandoffShape | None


class MyTaskAnswer(Answer, frozen=True):
    has_task: bool
    instruction: str
    task: MyTaskShape | UnsetType = UNSET


class EndAnswer(Answer, frozen=True):
    instruction: str


class SessionShape(Shape, frozen=True):
    session_id: str
    agent_id: str
    project_id: str
    status: str
    started_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    summary: str | None


class SessionAnswer(Answer, frozen=True):
    session: SessionShape


def login(it: Login, language: Language) -> LoginAnswer:
    return LoginAnswer(
        session_token=it.token,
        expires_in=int(LIFETIME.total_seconds()),
        agent_name=it.agent.name,
        project_name=it.project.name,
        system_prompt=it.system_prompt,
        instruction=words("logged_in", language),
    )


def my_task(it: MaybeAssignment, language: Language) -> MyTaskAnswer:
    if it.assignment is None:
        return MyTaskAnswer(has_task=False, instruction=words("no_task", language))
    return MyTaskAnswer(has_task=True, task=_task(it.assignment), instruction=words("has_task", language))


def _task(it: Assignment) -> MyTaskShape:
    return MyTaskShape(
        task_id=it.task.id,
        title=it.task.title,
        description=it.task.description,
        working_directory=it.working_directory,
        context=contexts.shape(it.context),
        handoff=None if it.handoff is None else handoffs.shape(it.handoff),
    )


def reported(it: Done, language: Language) -> EndAnswer:
    waits = "waits_for_subtasks" if it.waits_for_subtasks else "waits_for_facts"
    return EndAnswer(instruction=words(waits if it.waits_for_facts else "reported", language))


def logged_out(_: Session, language: Language) -> EndAnswer:
    return EndAnswer(instruction=words("logged_out", language))


def shape(it: Session) -> SessionShape:
    return SessionShape(
        session_id=it.id,
        agent_id=it.agent_id,
        project_id=it.project_id,
        status=it.status,
        started_at=it.started_at,
        expires_at=it.expires_at,
        ended_at=it.ended_at,
        summary=it.summary,
    )


def one(it: Session, _: Language) -> SessionAnswer:
    return SessionAnswer(session=shape(it))
