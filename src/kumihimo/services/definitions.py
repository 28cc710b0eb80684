"""Agents as the settings define them: `[agents.NAME]` wins over the board, and may name somebody whom the board does not know."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from kumihimo.domain.agent import Agent, Scope
from kumihimo.services.board import Board
from kumihimo.settings import AgentDefinition, Settings

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def defined(agent: Agent, settings: Settings) -> Agent:
    """The agent with what the settings say of it."""
    definition = settings.agents.get(agent.name)
    return agent if definition is None else replace(agent, **_fields(definition))


def newcomers(settings: Settings, known: set[str]) -> list[Agent]:
    """Those whom only the settings define, as they will be once they are given work."""
    return [
        replace(_blank(name), **_fields(definition))
        for name, definition in sorted(settings.agents.items())
        if name not in known
    ]


def welcome(board: Board, settings: Settings, names: set[str]) -> None:
    """Those among these names whom only the settings define become agents of the board."""
    wanted = names & set(settings.agents)
    if not wanted:
        return
    known = {agent.name for agent in board.agents.list().items}
    for agent in newcomers(settings, known):
        if agent.name in wanted:
            board.agents.add(
                agent.name,
                client=agent.client,
                model=agent.model,
                role=agent.role,
                system_prompt=agent.system_prompt,
                dod=agent.dod,
                write=agent.scope.write,
                exclude=agent.scope.exclude,
            )


def _fields(definition: AgentDefinition) -> dict[str, Any]:
    scope = definition.scope
    given = {
        "client": definition.client,
        "model": definition.model,
        "role": definition.description,
        "system_prompt": definition.system_prompt,
        "dod": None if definition.dod is None else tuple(definition.dod),
        "scope": None if scope is None else Scope(tuple(scope.get("write", ())), tuple(scope.get("exclude", ()))),
    }
    return {name: value for name, value in given.items() if value is not None}


def _blank(name: str) -> Agent:
    return Agent("", name, "ai", "active", "claude-code", None, "", "", (), (), Scope(), _NEVER, _NEVER)
