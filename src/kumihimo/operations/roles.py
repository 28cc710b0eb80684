"""Roles: agents as a lead sees them, with what is known about the program behind each."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import AgentNotFound
from kumihimo.domain.health import Health
from kumihimo.operations.operation import Arguments, Call, Nothing, operation
from kumihimo.services.checkups import check as check_up


class Role(Struct, frozen=True):
    agent: Agent
    health: Health


class CheckRoles(Arguments, frozen=True):
    agent: Annotated[str | None, Meta(description="An agent: its name or id; every active one if left out.")] = None


@operation("role.list", Nothing, list[Role], reads=True)
def list_(call: Call, _: Nothing) -> list[Role]:
    """The roles that can be given work: who they are, what plays them, and whether that is available."""
    return [Role(agent, health) for agent, health in call.board.hosts.health()]


@operation("role.check", CheckRoles, list[Role], AgentNotFound, idempotent=True, slow=True)
def check(call: Call, arguments: CheckRoles) -> list[Role]:
    """Check the program behind an agent, or behind every one: whether it is there, knows the model, and answers."""
    board = call.board
    named = arguments.agent
    agents = [board.agents.show(named)] if named else [agent for agent, _ in board.hosts.health()]
    return [Role(agent, board.hosts.note_health(check_up(agent, call.settings, board.clock))) for agent in agents]


OPERATIONS = (list_, check)
