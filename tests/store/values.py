"""Values of every noun as hypothesis makes them: any text that the databases take, any moment, every choice."""

from __future__ import annotations

import typing
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from kumihimo.domain.agent import Agent, AgentStatus, AgentType, Scope
from kumihimo.domain.context import ContextEntry, ContextKind
from kumihimo.domain.execution import DodResult, Execution, ExecutionStatus, FailureReason, Report, ReportStatus
from kumihimo.domain.group import Group, GroupMode, GroupStatus
from kumihimo.domain.handoff import Handoff
from kumihimo.domain.memory import Memory, MemoryStatus
from kumihimo.domain.retry import RetryPolicy, RetryReason
from kumihimo.domain.session import EndReason, Process, Session, SessionStatus
from kumihimo.domain.task import Priority, Task, TaskStatus, TaskType

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HARD = [
    "",
    "🧵👩‍💻🇯🇵",
    "שלום עולם",
    "‏مرحبا",
    "組紐",
    "e\u0301 é",
    "'; DROP TABLE tasks; --",
    "%s ? $1 :name {} \\",
    "\r\n\t\x01\x1b[31m",
    '"quoted", [1, 2]',
    "\u2028\ufeff\U0010ffff",
]
# PostgreSQL stores no NUL and nobody stores half a surrogate pair; services refuse both.
TEXT = st.sampled_from(_HARD) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
MOMENT = st.integers(-(10**15), 10**16).map(lambda n: _EPOCH + timedelta(microseconds=n))
NUMBER = st.integers(-(2**63), 2**63 - 1)
SCOPE = st.builds(Scope, TEXTS, TEXTS)
PROCESS = st.builds(Process, TEXT, TEXT, NUMBER, NUMBER)


def one_of(choices: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(typing.get_args(choices))


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


REPORT = st.builds(Report, one_of(ReportStatus), TEXT, MOMENT, TEXTS, TEXTS, optional(TEXT), optional(TEXT))


def agents(identifier: str) -> st.SearchStrategy[Agent]:
    return st.builds(
        Agent, st.just(identifier), TEXT.map(lambda text: identifier + text), one_of(AgentType), one_of(AgentStatus),
        TEXT, optional(TEXT), TEXT, TEXT, TEXTS, TEXTS, SCOPE, MOMENT, MOMENT,
    )  # fmt: skip


def tasks(identifier: str, number: int, project: str, agent: str, others: list[str]) -> st.SearchStrategy[Task]:
    return st.builds(
        Task,
        id=st.just(identifier),
        number=st.just(number),
        project_id=st.just(project),
        title=TEXT,
        description=TEXT,
        status=one_of(TaskStatus),
        status_reason=optional(TEXT),
        priority=one_of(Priority),
        type=one_of(TaskType),
        assignee_id=optional(st.just(agent)),
        assignee_type=optional(one_of(AgentType)),
        parent_id=optional(st.sampled_from(others)),
        dod=TEXTS,
        scope=SCOPE,
        created_at=MOMENT,
        updated_at=MOMENT,
        assigned_at=optional(MOMENT),
        depends_on=st.lists(st.sampled_from(others), unique=True, max_size=4).map(tuple),
        host=optional(TEXT),
        retry=st.builds(RetryPolicy, NUMBER, st.lists(one_of(RetryReason), max_size=3).map(tuple)),
    )


def contexts(identifier: str, project: str, task: str, agent: str) -> st.SearchStrategy[ContextEntry]:
    return st.builds(
        ContextEntry, st.just(identifier), st.just(project), st.just(task), optional(st.just(agent)),
        one_of(ContextKind), TEXT, MOMENT,
    )  # fmt: skip


def handoffs(identifier: str, project: str, task: str, agent: str) -> st.SearchStrategy[Handoff]:
    return st.builds(
        Handoff, st.just(identifier), st.just(project), st.just(task), st.just(agent), optional(st.just(agent)),
        TEXT, optional(TEXT), optional(TEXT), TEXTS, TEXTS, MOMENT, optional(MOMENT), optional(st.just(agent)),
    )  # fmt: skip


def memories(slug: str, project: str) -> st.SearchStrategy[Memory]:
    return st.builds(
        Memory, st.just(f"{project}/{slug}"), st.just(project), st.just(slug), TEXT, TEXT, TEXT, TEXT,
        one_of(MemoryStatus), MOMENT, MOMENT,
    )  # fmt: skip


def sessions(identifier: str, project: str, agent: str) -> st.SearchStrategy[Session]:
    return st.builds(
        Session, st.just(identifier), st.just(agent), st.just(project), one_of(SessionStatus), MOMENT, MOMENT,
        optional(MOMENT), optional(one_of(EndReason)), optional(TEXT), optional(PROCESS),
    )  # fmt: skip


def groups(identifier: str, project: str) -> st.SearchStrategy[Group]:
    return st.builds(
        Group, st.just(identifier), optional(st.just(project)), TEXT, one_of(GroupMode), one_of(GroupStatus), MOMENT,
        optional(MOMENT),
    )  # fmt: skip


def executions(identifier: str, project: str, task: str, agent: str) -> st.SearchStrategy[Execution]:
    return st.builds(
        Execution, st.just(identifier), st.none(), optional(st.just(project)), optional(st.just(task)),
        st.just(agent), st.none(), st.none(), st.sampled_from(["group", "instance"]), TEXT, optional(TEXT), TEXT,
        optional(TEXT), optional(NUMBER), one_of(ExecutionStatus), MOMENT, optional(MOMENT), optional(MOMENT),
        optional(NUMBER), optional(TEXT), optional(one_of(FailureReason)), optional(TEXT), optional(one_of(DodResult)),
        TEXTS, optional(TEXT), optional(NUMBER), optional(REPORT), optional(TEXT), optional(MOMENT), NUMBER,
        attempt=NUMBER, writes=TEXTS,
    )  # fmt: skip
