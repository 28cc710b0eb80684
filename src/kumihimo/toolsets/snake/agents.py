"""Agents."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from kumihimo.domain.agent import CLIENTS, Agent
from kumihimo.settings import Language
from kumihimo.store.paging import Page
from kumihimo.toolsets.snake.answer import Answer, Shape


class AgentShape(Shape, frozen=True):
    agent_id: str
    name: str
    type: str
    status: str
    role: str
    capabilities: list[str]
    client: str
    ai_type: str
    model: str | None
    system_prompt: str
    created_at: datetime


class AgentAnswer(Answer, frozen=True):
    agent: AgentShape


class AgentsAnswer(Answer, frozen=True):
    agents: list[AgentShape]
    next_cursor: str | UnsetType = UNSET


def shape(it: Agent) -> AgentShape:
    return AgentShape(
        agent_id=it.id,
        name=it.name,
        type=it.type,
        status=it.status,
        role=it.role,
        capabilities=list(it.capabilities),
        client=it.client,
        ai_type=CLIENTS[it.client],
        model=it.model,
        system_prompt=it.system_prompt,
        created_at=it.created_at,
    )


def one(it: Agent, _: Language) -> AgentAnswer:
    return AgentAnswer(agent=shape(it))


def many(found: list[Agent], _: Language) -> AgentsAnswer:
    return AgentsAnswer(agents=[shape(it) for it in found])


def page(found: Page[Agent], _: Language) -> AgentsAnswer:
    return AgentsAnswer(agents=[shape(it) for it in found.items], next_cursor=found.next_cursor or UNSET)
