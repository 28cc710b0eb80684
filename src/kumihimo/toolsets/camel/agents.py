"""Agents."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from kumihimo.domain.agent import Agent
from kumihimo.services.agents import KeyedAgent
from kumihimo.toolsets.camel.answer import Answer


class AgentAnswer(Answer, frozen=True):
    id: str
    agent_id: str
    name: str
    type: str
    status: str
    client: str
    model: str | None
    role: str
    system_prompt: str
    capabilities: list[str]
    dod: list[str]
    write: list[str]
    exclude: list[str]
    created_at: datetime
    updated_at: datetime
    passkey: str | UnsetType = UNSET


class AgentsAnswer(Answer, frozen=True):
    agents: list[AgentAnswer]
    next_cursor: str | UnsetType = UNSET


def agent(it: Agent) -> AgentAnswer:
    return AgentAnswer(
        id=it.name,
        agent_id=it.id,
        name=it.name,
        type=it.type,
        status=it.status,
        client=it.client,
        model=it.model,
        role=it.role,
        system_prompt=it.system_prompt,
        capabilities=list(it.capabilities),
        dod=list(it.dod),
        write=list(it.scope.write),
        exclude=list(it.scope.exclude),
        created_at=it.created_at,
        updated_at=it.updated_at,
    )


def keyed_agent(keyed: KeyedAgent) -> AgentAnswer:
    return replace(agent(keyed.agent), passkey=keyed.passkey)
